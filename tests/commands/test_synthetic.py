"""`guerdon data make`: files, report and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from guerdon import cli
from guerdon.synthetic.kinds import KINDS


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, Any], str]:
    status = cli.run(["data", "make", *map(str, words), "--json"])
    captured = capsys.readouterr()
    return status, json.loads(captured.out.splitlines()[-1]), captured.err


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_written_and_reported(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "made" / "x.jsonl"
    status, found, said = run(capsys, kind, "--out", out, "--rows", 20, "--heldout", 10, "--flip", 0.1)
    assert (status, found["kind"], found["rows"], found["heldout_rows"]) == (0, kind, 20, 10)
    assert found["out"] == str(out)
    assert found["heldout"] == str(tmp_path / "made" / "x.heldout.jsonl")
    assert len(out.read_text().splitlines()) == 20
    assert len(Path(found["heldout"]).read_text().splitlines()) == 10
    assert 0.5 <= found["bayes_accuracy"] <= 0.9
    assert f"{found['bayes_accuracy']:.3f} in expectation" in said
    first = out.read_bytes()
    run(capsys, kind, "--out", out, "--rows", 20, "--heldout", 10, "--flip", 0.1)
    assert out.read_bytes() == first
    assert cli.run(["data", "check", str(out)]) == 0


def test_of_scores_the_least_error_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = ("--layout", "regression", "--score-noise", 0.4, "--rows", 5, "--heldout", 5)
    status, found, said = run(capsys, "sums", "--out", tmp_path / "x.jsonl", *words)
    assert (status, found["bayes_mse"]) == (0, pytest.approx(0.16))
    assert "least mean squared error that any model can reach: 0.16" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["poems", "--out", "x.jsonl"], "there is no kind 'poems'"),
        (["--out", "x.jsonl"], "expected one of requests, sums, steps first"),
        (["sums"], "--out must be given"),
        (["sums", "--out", "x.csv"], "expected a name that ends in .jsonl"),
        (["sums", "--out", "x.jsonl", "--cycle", "1"], "there is no key --cycle"),
        (["sums", "--out", "x.jsonl", "--layout", "pairs"], "--layout is 'pairs'"),
    ],
)
def test_wrong_words_are_refused(words: list[str], said: str, tmp_path: Path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, found, _ = run(capsys, *words)
    assert (status, found["kind"]) == (2, "UsageError")
    assert said in found["error"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [["--help"], ["requests", "--help"], []])
def test_help_lists_kinds_and_keys(words: list[str], capsys: pytest.CaptureFixture[str]):
    assert cli.run(["data", "make", *words]) == 0
    out = capsys.readouterr().out
    assert "requests: Requests in English" in out
    assert "--out" in out
    assert ("--length-link" in out) == bool(words[:1] == ["requests"])
