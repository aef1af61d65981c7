"""`guerdon train` end to end, on a random model small enough to train in a blink."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from guerdon import cli
from guerdon.commands.train import read
from guerdon.keys import UsageError
from tests.models.small import saved

SMALL = "--prompts-per-step 2 --samples-per-prompt 2 --max-new-tokens 4 --eval-tasks 4 --quiet --json"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("model"))


@pytest.fixture
def train(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs `guerdon train` in a folder of its own; returns (exit status, last line as JSON)."""
    monkeypatch.chdir(tmp_path)

    def run(words: str, small: bool = True) -> tuple[int, dict[str, Any]]:
        defaults = ["--model", str(model), *SMALL.split()] if small else []
        defaults += ["--steps", "2"] if small and "--steps" not in words else []
        status = cli.run(["train", *words.split(), *defaults])
        return status, json.loads(capsys.readouterr().out.splitlines()[-1])

    return run


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [{"prompt": f"{a}+1=", "completion": str(a + 1), "chosen": str(a + 1), "rejected": "0"} for a in range(4)]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_words_of_the_command_are_told_from_those_of_the_recipe():
    words = "ppo --out a/b --lr 1e-3 --json --resume --chat-template --beta -1 --dry-run"
    wish = read(words.split(" "))
    assert wish.name == "ppo"
    assert wish.words == ["--lr", "1e-3", "--chat-template", "--beta", "-1"]
    assert wish.controls == {"out": Path("a/b"), "json": True, "dry_run": True}
    assert wish.resume is True
    assert wish.folder == Path("a/b")
    assert read(["--resume", "runs/x", "--steps", "4"]).folder == Path("runs/x")
    assert read(["--resume=runs/x"]).resume == Path("runs/x")
    assert read([]).name is None
    assert read(["--help"]).help
    with pytest.raises(UsageError, match="--out has no value"):
        read(["--out"])


def test_a_run_leaves_what_it_promises(train: Any):
    status, found = train("grpo --out run")
    assert status == 0
    assert found["run"] == "run"
    assert found["heldout_before"].keys() == found["heldout_after"].keys() == {"mean", "low", "high", "n"}
    assert found["step_seconds"].keys() == {"total", "sample", "score", "learn"}
    assert found["tokens"].keys() == {"sampled", "trained"}
    assert found["seconds"] > 0
    assert found["peak_memory_mb"] > 0
    assert len(found["weights_sha256"]) == 64
    for name in ("run.json", "metrics.jsonl", "report.html", "model/config.json", "episodes/heldout-000000.parquet"):
        assert (Path("run") / name).exists(), name
    record = json.loads(Path("run/run.json").read_text())
    assert record["recipe"] == "grpo"
    assert record["arguments"]["steps"] == 2


def test_a_taken_folder_is_left_alone(train: Any):
    Path("run").mkdir()
    Path("run/thesis.txt").write_text("years of work")
    status, found = train("--out run")
    assert (status, found["kind"]) == (1, "FolderTaken")
    assert [path.name for path in Path("run").iterdir()] == ["thesis.txt"]


def test_a_dry_run_starts_nothing(train: Any):
    status, found = train("dr-grpo --out run --dry-run")
    assert status == 0
    assert found["estimate"] is True
    assert found["step"]["rollouts"] == 4
    assert found["run"]["method"]["settings"]["max_new_tokens"] == 4
    assert not list(Path().iterdir())


@pytest.mark.parametrize(
    ("words", "kind", "said"),
    [
        ("grpoo", "ValueError", "did you mean 'grpo'"),
        ("--lrr 1", "UsageError", "did you mean --lr?"),
        ("--lr one", "UsageError", "--lr is 'one'; expected a number"),
        ("--steps 0", "ValueError", "steps is 0; expected at least 1"),
        ("sft", "UsageError", "--data must be given"),
        ("sft --data no.jsonl", "ValueError", "no.jsonl"),
        ("grpo --reward no.py:f", "FileNotFoundError", "no.py"),
        ("no.py:f", "FileNotFoundError", "no.py"),
        ("--resume", "ValueError", "there is no run"),
        ("--resume nowhere --out here", "UsageError", "leave one of them out"),
        ("--device cuda:99x", "ValueError", "expected cpu, cuda"),
        ("--resume nowhere", "FileNotFoundError", "no run folder"),
    ],
)
def test_mistakes_are_told_before_anything_starts(train: Any, words: str, kind: str, said: str):
    status, found = train(f"{words} --json", small=False)
    assert (status, found["kind"]) == (2 if kind == "UsageError" else 1, kind)
    assert said in found["error"]


def test_who_gives_tiny_other_tasks_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"prompt": "Capital of Peru?", "answer": "Lima"}\n{"prompt": "Of France?", "answer": "Paris"}\n')
    assert cli.run(["train", "--tasks", str(rows), "--dry-run"]) == 0
    assert "note: tiny was only taught sums" in capsys.readouterr().err
    assert cli.run(["train", "--tasks", "arithmetic?level=2", "--dry-run"]) == 0
    assert "note" not in capsys.readouterr().err


def test_a_reward_of_ones_own(train: Any):
    Path("mine.py").write_text(
        "def score(completions, **columns):\n    return [float('1' in c) for c in completions]\n"
    )
    status, _ = train("rloo --reward mine.py:score --out run")
    assert status == 0
    record = json.loads(Path("run/run.json").read_text())
    assert record["rewards"] == {"score": 1.0}
    assert record["arguments"]["reward"] == "mine.py:score"


OWN = """
from guerdon.methods.grpo import grpo
from guerdon.run import Options, Run
from guerdon.tasks.spec import load_tasks

def mine(model: str, steps: int = 2, lr: float = 1e-3) -> Run:
    tasks = load_tasks("arithmetic")
    options = Options(model=model, steps=steps, lr=lr, prompts_per_step=2, samples_per_prompt=2, max_new_tokens=4,
                      eval_tasks=0)
    return Run(grpo(), options, tasks, rewards=(tasks.reward,))

def wrong(model: str) -> int:
    return 3
"""


def test_a_recipe_of_ones_own(train: Any, model: Path):
    Path("own.py").write_text(OWN)
    status, found = train(f"own.py:mine --model {model} --steps 1 --out run --quiet --json", small=False)
    assert status == 0
    assert found["steps"] == 1
    assert found["heldout_before"] is None
    status, found = train("--resume run --steps 2 --quiet --json", small=False)
    assert (status, found["steps"]) == (0, 2)
    status, found = train(f"own.py:wrong --model {model} --json", small=False)
    assert (status, found["kind"]) == (1, "TypeError")
    assert "returned int" in found["error"]
    status, found = train(f"own.py:min --model {model} --json", small=False)
    assert "did you mean 'mine'" in found["error"]


@pytest.mark.parametrize("name", ["sft", "dpo"])
def test_learning_from_rows(train: Any, data: Path, model: Path, name: str):
    words = f"{name} --data {data} --model {model} --tasks arithmetic --eval-tasks 4 --steps 2 --prompts-per-step 2"
    status, found = train(f"{words} --out run --quiet --json", small=False)
    assert status == 0, found
    assert found["tokens"]["trained"] > 0
    assert found["tokens"]["sampled"] == 0
    assert found["heldout_after"]["n"] == 4


def test_going_on_gives_the_weights_of_the_run_that_was_not_stopped(train: Any):
    Path("mine.py").write_text("def score(completion):\n    return float(len(completion) > 2)\n")
    _, whole = train("--reward mine.py:score --out whole --steps 4")
    _, half = train("--reward mine.py:score --out half --steps 2")
    assert half["weights_sha256"] != whole["weights_sha256"]
    status, rest = train("--resume half --steps 4 --quiet --json", small=False)
    assert (status, rest["steps"]) == (0, 4)
    assert rest["weights_sha256"] == whole["weights_sha256"]
    assert rest["heldout_before"] == whole["heldout_before"]


def test_resuming_a_finished_run_says_what_to_do(train: Any):
    train("--out run")
    status, found = train("--resume run --json", small=False)
    assert (status, found["kind"]) == (1, "ValueError")
    assert "nothing is left to do" in found["error"]
    status, found = train("ppo --resume run --json", small=False)
    assert (status, found["kind"]) == (2, "UsageError")
    assert "is a run of grpo" in found["error"]
    status, found = train("--resume run --steps 3 --quiet --json", small=False)
    assert (status, found["steps"]) == (0, 3)


def test_an_interrupted_run_says_how_to_go_on(train: Any):
    Path("stop.py").write_text(
        "import os, signal\nfrom guerdon.rewards.calling import in_process\ncalls = []\n"
        "@in_process\ndef score(completions):\n    calls.append(1)\n"
        "    if len(calls) == 7: os.kill(os.getpid(), signal.SIGTERM)\n    return [0.0 for _ in completions]\n"
    )
    before = signal.getsignal(signal.SIGTERM)
    status, found = train("--reward stop.py:score --out run")
    assert signal.getsignal(signal.SIGTERM) is before
    assert status == 130
    assert found["kind"] == "Interrupted"
    assert "guerdon train --resume run" in found["error"]
    assert found["steps"] == 1
    assert (Path("run") / "report.html").exists()


def test_the_rewards_that_a_method_brings_along_count_too(train: Any):
    Path("mine.py").write_text("def score(completion):\n    return float(len(completion) % 2)\n")
    status, _ = train("dapo --overlong-buffer 2 --reward mine.py:score --out run --steps 1 --eval-every 0")
    assert status == 0
    steps = [json.loads(line) for line in Path("run/metrics.jsonl").read_text().splitlines()]
    metrics = next(event["metrics"] for event in steps if event["event"] == "step")
    assert metrics["reward/overlong"] < 0
    assert metrics["return"] == pytest.approx(metrics["reward/overlong"] + metrics["reward/score"], abs=1e-6)


def test_arguments_given_on_resuming_are_kept_for_the_next_time(train: Any):
    train("--out run --steps 1")
    train("--resume run --steps 2 --lr 1e-5 --quiet --json", small=False)
    record = json.loads(Path("run/run.json").read_text())
    assert (record["arguments"]["steps"], record["options"]["lr"]) == (2, 1e-5)
