"""What commands load before they do anything: nothing heavy for help and lists, and no torch to plan a run.

Loading is what makes a command slow to start, and it can be seen without measuring time.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from guerdon import __version__

HEAVY = ("torch._C", "transformers", "scipy", "pyarrow", "datasets", "sympy", "httpx", "peft", "reasoning_gym", "numpy")
"""Modules that take long to load; `torch._C` is there once torch has really run (see `guerdon.deferred`)."""

SCRIPT = """
import contextlib, io, json, sys
from guerdon import cli
told = []
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            cli.main(words)
        except SystemExit as end:
            status = end.code
    told.append({"status": status, "out": out.getvalue(), "heavy": [name for name in %r if name in sys.modules]})
print(json.dumps(told))
"""


def run(*commands: str) -> dict[str, dict]:
    """What each command printed, its status, and what was loaded after it, all in one process, in this order."""
    words = json.dumps([command.split() for command in commands])
    done = subprocess.run([sys.executable, "-c", SCRIPT % (HEAVY,), words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return dict(zip(commands, json.loads(done.stdout.splitlines()[-1]), strict=True))


def test_help_loads_nothing_heavy():
    groups = ("data", "reward", "model")
    commands = ("eval", "sample", "grade", "report", "methods", "tasks", "claim", "doctor", "data check", "reward eval")
    found = run("--help", "--version", *(f"{name} --help" for name in (*groups, *commands)))
    assert {words: one["heavy"] for words, one in found.items() if one["heavy"] or one["status"]} == {}
    assert "guerdon train" in found["--help"]["out"]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps({"prompt": f"{a}+1=", "completion": str(a + 1)}) + "\n" for a in range(6)))
    return file


def test_lists_and_plans_need_no_torch(rows: Path):
    found = run(
        "methods",
        "train --help",
        "train ppo --help",
        "compare --help",
        "train --dry-run",
        "train ppo --beta 0.1 --reward numeric --tis-cap 2 --dry-run",
        f"train sft --data {rows} --passes 2 --dry-run",
    )
    assert {words: one["status"] for words, one in found.items()} == dict.fromkeys(found, 0)
    assert {words: one["heavy"] for words, one in found.items()} == {words: ["numpy"] for words in found}
    assert "Clipped policy gradient" in found["methods"]["out"]
    assert "GFLOP/s" in found["train --dry-run"]["out"]


def test_a_mistake_is_told_without_torch():
    found = run("train grpoo", "train --lrr 1", "claim nothing", "train --steps 0 --dry-run")
    assert {words: one["heavy"] for words, one in found.items()} == {words: ["numpy"] for words in found}
    assert [one["status"] for one in found.values()] == [1, 2, 1, 1]


def test_torch_comes_when_it_is_used():
    found = run("doctor")["doctor"]
    assert found["status"] == 0
    assert "torch._C" in found["heavy"]
    assert re.search(r"\d+ threads", found["out"])


def test_python_runs_the_package():
    done = subprocess.run([sys.executable, "-m", "guerdon", "--version"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, __version__)
    done = subprocess.run([sys.executable, "-m", "guerdon", "evl"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "No such command" in done.stderr
