"""A deferred module: nothing runs before it is used, and then it is what it always was."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from guerdon.deferred import defer

PACKAGE = """
import sys
runs = sys.modules.setdefault("counted_runs", [])
runs.append(__name__)
from deferred_package import inner
from deferred_package.inner import seven
eight = seven + 1

def __getattr__(name):
    if name == "late":
        return "found late"
    raise AttributeError(name)
"""


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Names of the modules that ran, in order; the package `deferred_package` can be imported meanwhile."""
    folder = tmp_path / "deferred_package"
    folder.mkdir()
    (folder / "__init__.py").write_text(PACKAGE)
    (folder / "inner.py").write_text("import deferred_package\nseven = 7\n")
    (tmp_path / "deferred_broken.py").write_text("found = 1\nraise ImportError('no such library')\n")
    counted: Any = []
    sys.modules["counted_runs"] = counted
    monkeypatch.syspath_prepend(tmp_path)
    yield counted
    for name in [name for name in sys.modules if name.startswith(("deferred_package", "deferred_broken", "counted_"))]:
        del sys.modules[name]


def test_it_runs_once_and_when_it_is_used(runs: list[str]):
    defer("deferred_package")
    defer("deferred_package")
    first = importlib.import_module("deferred_package")
    second = importlib.import_module("deferred_package")
    assert first is second
    assert first.__name__ == "deferred_package"
    assert not runs
    assert first.eight == 8
    assert (first.late, first.inner.seven, second.seven) == ("found late", 7, 7)
    assert runs == ["deferred_package"]
    assert type(first) is ModuleType
    assert sys.modules["deferred_package"] is first
    with pytest.raises(AttributeError, match="nine"):
        _ = first.nine


def test_a_part_of_it_needs_all_of_it(runs: list[str]):
    defer("deferred_package")
    inner = importlib.import_module("deferred_package.inner")
    assert runs == ["deferred_package"]
    assert inner.deferred_package.eight == 8


def test_what_is_loaded_or_missing_is_left_alone(runs: list[str]):
    loaded = importlib.import_module("deferred_package")
    defer("deferred_package")
    assert sys.modules["deferred_package"] is loaded
    defer("deferred_nowhere")
    assert "deferred_nowhere" not in sys.modules


def test_a_failure_is_told_and_leaves_nothing(runs: list[str]):
    defer("deferred_broken")
    broken = importlib.import_module("deferred_broken")
    with pytest.raises(ImportError, match="no such library"):
        _ = broken.other
    assert "deferred_broken" not in sys.modules


def test_threads_see_it_whole(runs: list[str]):
    defer("deferred_package")
    package, found = sys.modules["deferred_package"], []
    threads = [threading.Thread(target=lambda: found.append(package.eight)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert found == [8] * 8
    assert runs == ["deferred_package"]
