"""`guerdon reward`: what it writes, what it says, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from guerdon import cli
from guerdon.commands.reward import train
from guerdon.keys import UsageError
from guerdon.method import Heads
from guerdon.models.load import load_policy
from guerdon.models.reward import save, with_heads

PAIRS = [
    {"prompt": f"{a}+{b}=", "chosen": str(a + b), "rejected": str(a + b + 10 * (a % 2) + 1), "odd": a % 2}
    for a in range(3, 9)
    for b in (4, 7)
]


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, Any], str]:
    status = cli.run(["reward", *map(str, words), "--json"])
    captured = capsys.readouterr()
    return status, json.loads(captured.out.splitlines()[-1]), captured.err


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rm") / "model"
    save(with_heads(load_policy("tiny"), Heads()), Heads(), path)
    return path


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return write(tmp_path / "pairs.jsonl", PAIRS)


def test_a_reward_is_measured_on_pairs(pairs: Path, capsys: pytest.CaptureFixture[str]):
    status, found, said = run(capsys, "eval", "gold:sums", pairs, "--by", "odd")
    assert (status, found["model"], found["faults"]) == (0, "gold:sums", 0)
    (report,) = found["reports"]
    assert (report["bench"], report["score"], report["rows"]) == ("pairs", 1.0, 12)
    assert report["files"] == [str(pairs)]
    assert report["parts"]["odd=1"]["n"] == 6
    assert "pairs: 1.000 on 12 rows" in said


def test_a_model_is_measured_reworded_and_compared(model: Path, pairs: Path, tmp_path: Path, capsys):
    others = [{**row, "chosen": f" {row['chosen']}", "rejected": f" {row['rejected']}"} for row in PAIRS]
    spaced = write(tmp_path / "spaced.jsonl", others)
    words = ("--rewrites", "--paraphrases", spaced, "--other", "gold:sums")
    status, found, said = run(capsys, "eval", model, pairs, *words)
    assert status == 0
    (report,) = found["reports"]
    assert "tokens" in report["length"]
    assert report["agreement"][0]["models"][1] == "gold:sums"
    assert {"quotes", "handle", "spaced"} <= set(report["robustness"]["rewrites"])
    assert "code_minified" in report["robustness"]["absent"]
    assert "worst:" in said


def test_files_of_one_benchmark_are_one_report_and_pairs_are_not(pairs: Path, tmp_path: Path, capsys):
    halves = []
    for name in ("math-prm", "hep-go"):
        rows = [{"prompt": "1+1=", "chosen": "2", "rejected": "3", "subset": name, "id": 1}]
        halves.append(write(tmp_path / f"{name}.jsonl", rows))
    status, found, _ = run(capsys, "eval", "gold:sums", *halves, pairs, pairs)
    assert status == 0
    assert [(one["bench"], one["rows"], len(one["files"])) for one in found["reports"]] == [
        ("rewardbench", 2, 2),
        ("pairs", 12, 1),
        ("pairs", 12, 1),
    ]
    assert found["reports"][0]["parts"]["Reasoning"]["mean"] == 1


def test_best_of_n_with_gold_from_a_column_and_from_a_reward(tmp_path: Path, capsys):
    rows = [{"prompt": f"{a}+1=", "completions": ["7", str(a + 1), "12"], "true": [0, 2, 1]} for a in (2, 3, 4)]
    file, page = write(tmp_path / "samples.jsonl", rows), tmp_path / "curve.html"
    words = ("eval", "gold:sums", file, "--bench", "best-of-n", "--gold")
    status, found, said = run(capsys, *words, "true", "--page", page)
    assert status == 0
    assert found["reports"][0]["score"] == 2
    assert found["reports"][0]["peak"]["n"] == 3
    assert "gold is highest at best of 3" in said
    assert page.read_text(encoding="utf-8").count("<svg") == 2
    status, found, _ = run(capsys, *words, "gold:sums")
    assert (status, found["reports"][0]["peak"]["n"]) == (0, 3)


def test_rows_are_written_with_their_scores(model: Path, pairs: Path, tmp_path: Path, capsys):
    status, found, _ = run(capsys, "score", model, pairs)
    out = tmp_path / "pairs.scored.jsonl"
    assert (status, found["out"], found["rows"]) == (0, str(out), 12)
    assert found["columns"] == ["score_chosen", "score_rejected"]
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [{k: v for k, v in row.items() if k in PAIRS[0]} for row in rows] == PAIRS
    assert all(isinstance(row["score_chosen"], float) for row in rows)
    status, _, _ = run(capsys, "score", "gold:sums", pairs, "--out", tmp_path / "g.parquet", "--name", "gold")
    assert status == 0
    assert pq.read_table(tmp_path / "g.parquet").to_pylist()[0]["gold_chosen"] == 2


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["eval", "gold:sum", "FILE"], 1, "there is no reward 'gold:sum'"),
        (["eval", "gold:sums", "FILE", "--by", "even"], 1, "there is no column 'even' to group by"),
        (["eval", "gold:sums", "FILE", "--bench", "rm"], 1, "there is no benchmark 'rm'"),
        (["eval", "gold:sums", "FILE", "--bench", "rewardbench"], 1, "row 1: no value under 'subset'"),
        (["eval", "gold:sums", "FILE", "--bench", "best-of-n"], 2, "--bench best-of-n needs --gold"),
        (["eval", "gold:sums", "missing.jsonl"], 1, "missing.jsonl does not exist"),
        (["eval", "gold:sums"], 2, "Missing argument 'FILE...'"),
        (["score", "gold:sums", "FILE", "--out", "x.csv"], 2, "ends in .jsonl or .parquet"),
        (["score", "gold:sums", "FILE", "--name", "rejected", "--out", "x.jsonl"], 0, ""),
        (["train", "FILE", "--method", "grpo"], 2, "expected a recipe of reward models: bradley_terry"),
    ],
)
def test_wrong_words_are_refused(words, status, said, pairs: Path, tmp_path: Path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found, result, _ = run(capsys, *(str(pairs) if word == "FILE" else word for word in words))
    assert found == status
    assert said in result.get("error", "")


def test_training_is_the_train_command_with_a_recipe_of_reward_models(monkeypatch):
    seen = []
    monkeypatch.setattr("guerdon.commands.train.train", lambda words: seen.append(list(words)))
    train(["pairs.jsonl", "--steps", "3"])
    train(["--method=bradley-terry", "--help"])
    train(["--resume", "runs/x"])
    assert seen == [
        ["bradley_terry", "--data", "pairs.jsonl", "--steps", "3"],
        ["bradley-terry", "--help"],
        ["--resume", "runs/x"],
    ]
    with pytest.raises(UsageError, match="--method has no value"):
        train(["pairs.jsonl", "--method"])


@pytest.mark.slow
def test_a_reward_model_is_trained_scored_with_and_measured(tmp_path: Path, capsys):
    data, out = tmp_path / "sums.jsonl", tmp_path / "run"
    assert cli.run(["data", "make", "sums", "--out", str(data), "--rows", "200", "--heldout", "100"]) == 0
    words = ("--steps", 40, "--prompts-per-step", 32, "--eval-every", 0, "--out", out, "--quiet")
    status, _, _ = run(capsys, "train", data, *words)
    assert status == 0
    status, found, _ = run(capsys, "eval", out, tmp_path / "sums.heldout.jsonl")
    assert status == 0
    assert found["reports"][0]["parts"]["accuracy"]["low"] > 0.5
