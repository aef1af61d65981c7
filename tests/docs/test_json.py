"""`docs/json.md` names exactly the keys that the commands print."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from guerdon import cli

PAGE = Path(__file__).parents[2] / "docs" / "json.md"
COMMANDS = {
    "train": "train --steps 1 --prompts-per-step 2 --eval-tasks 2 --quiet",
    "train with --dry-run": "train --dry-run",
    "eval": "eval tiny --limit 2",
    "sample": "sample tiny 1+1=",
    "grade": "grade numeric --gold 1 --text 2",
    "data check": "data check sums.jsonl",
    "data make": "data make sums --out sums.jsonl --rows 5",
    "model check": "model check tiny",
    "model average": "model average tiny tiny --out merged",
    "claim": "claim group-robust-po --quick",
    "reward score": "reward score numeric sums.jsonl --out scored.jsonl",
    "reward eval": "reward eval gold:sums pairs.jsonl",
    "compare": "compare grpo --budget 60 --seeds 1 --prompts-per-step 2 --items 2 --decodes 2 --on-the-way 1 "
    "--points 1 --workers 0 --quiet",
    "report": "report runs/grpo-1",
    "methods": "methods",
    "tasks": "tasks",
    "doctor": "doctor",
}


def documented(section: str) -> set[str]:
    """Keys that a section names: those in the first column of its table, or those before the colon of its sentence."""
    text = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.M)
    body = next(part.partition("\n")[2] for part in text if part.partition("\n")[0] == section)
    cells = [line.split("|")[1] for line in body.splitlines() if line.startswith("| `")]
    return set(re.findall(r"`(\w+)`", " ".join(cells) if cells else body.strip().partition(":")[0]))


@pytest.mark.parametrize("section", COMMANDS)
def test_the_keys_are_those_of_the_page(
    section: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if section == "data check":
        Path("sums.jsonl").write_text('{"prompt": "1+1=", "answer": "2"}\n')
    if section == "reward score":
        Path("sums.jsonl").write_text('{"prompt": "1+1=", "completion": "2", "answer": "2"}\n')
    if section == "reward eval":
        assert cli.run(["data", "make", "sums", "--out", "pairs.jsonl", "--rows", "20"]) == 0
        capsys.readouterr()
    if section == "report":
        assert cli.run(COMMANDS["train"].split()) == 0
    assert cli.run([*COMMANDS[section].split(), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(printed) == documented(section)


def test_a_failure_has_the_keys_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["train", "--steps", "many", "--json"]) == 2
    (example,) = [line for line in PAGE.read_text().splitlines() if line.startswith('{"error"')]
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == json.loads(example)
