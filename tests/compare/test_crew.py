"""Jobs done here or by processes: failures that are heard of, and stops that save."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from guerdon.compare.base import Comparison
from guerdon.compare.crew import Crew, Word, is_small, workers_for
from guerdon.compare.jobs import Job, jobs_of, result_of
from tests.compare.arms import comparison, ignore


def settle(made: Comparison, folder: Path) -> None:
    (folder / "comparison.json").write_text(json.dumps(made.as_dict()))


def heard(made: Comparison, folder: Path, workers: int, then: Callable[[Word], None] = ignore) -> list[tuple[str, str]]:
    """(job, kind) of all that is heard while two seeds are done, but how far they are."""
    words: list[Word] = []

    def hear(word: Word) -> None:
        words.append(word)
        then(word)

    Crew(made, folder, hear, workers).work(list(jobs_of(made, 2)))
    return [(str(word.job), word.kind) for word in words if word.kind != "spent"]


def test_jobs_are_done_in_their_order(model: Path, tmp_path: Path):
    made = comparison(model, tmp_path)
    jobs = [str(job) for job in jobs_of(made, 2)]
    assert heard(made, tmp_path, 0) == [(job, kind) for job in jobs for kind in ("began", "done")]


def test_a_stop_saves_and_begins_nothing_more(model: Path, tmp_path: Path):
    made = comparison(model, tmp_path)
    before = signal.getsignal(signal.SIGINT)

    def stop(word: Word) -> None:
        if (str(word.job), word.kind) == ("seed 0, rloo", "spent"):
            os.kill(os.getpid(), signal.SIGINT)

    assert heard(made, tmp_path, 0, stop)[-1] == ("seed 0, rloo", "stopped")
    assert signal.getsignal(signal.SIGINT) is before
    assert result_of(tmp_path, made, Job("grpo", 0)) is not None
    assert result_of(tmp_path, made, Job("rloo", 0)) is None


def test_a_job_that_fails_is_heard_of_and_the_others_go_on(model: Path, tmp_path: Path):
    made = comparison(model, tmp_path, "grpo?lr=1e30", "rloo")
    words = heard(made, tmp_path, 0)
    assert ("seed 0, grpo?lr=1e30", "failed") in words
    assert ("seed 1, rloo", "done") in words


def test_small_models_get_a_process_per_core(model: Path, tmp_path: Path):
    made = comparison(model, tmp_path)
    assert is_small(made)
    assert workers_for(made, 1) == 1
    assert workers_for(made, 10**6) == len(os.sched_getaffinity(0))


@pytest.mark.slow
def test_processes_give_what_this_one_gives(model: Path, tmp_path: Path):
    folders = [tmp_path / name for name in ("here", "there")]
    figures = []
    for folder, workers in zip(folders, (0, 2), strict=True):
        folder.mkdir()
        made = comparison(model, tmp_path)
        settle(made, folder)
        assert sorted(kind for _, kind in heard(made, folder, workers)) == ["began"] * 5 + ["done"] * 5
        found = [result_of(folder, made, job) for job in jobs_of(made, 2)]
        figures.append([one["evaluation"] for one in found if one])
    assert figures[0] == figures[1]
    assert all((tmp_path / "there" / f"worker-{i}.log").exists() for i in range(2))


@pytest.mark.slow
def test_processes_save_when_they_are_asked_to_stop(model: Path, tmp_path: Path):
    made = comparison(model, tmp_path, budget=100_000)
    settle(made, tmp_path)

    def stop(word: Word) -> None:
        if word.kind == "spent" and word.job.arm:
            os.kill(os.getpid(), signal.SIGTERM)

    assert heard(made, tmp_path, 1, stop)[-1] == ("seed 0, grpo", "stopped")
    (checkpoint,) = (tmp_path / "arms" / "grpo" / "seed-0" / "checkpoints").glob("step-*")
    assert checkpoint.is_dir()


@pytest.mark.slow
def test_a_process_that_dies_fails_its_job_alone(model: Path, tmp_path: Path):
    made = comparison(model, tmp_path)
    dead = tmp_path / "dead"
    (tmp_path / "digits.py").write_text(
        "import os, pathlib\nfrom guerdon.rewards.calling import in_process\n"
        "@in_process\ndef score(completions):\n"
        f"    if not os.path.exists({str(dead)!r}):\n"
        f"        pathlib.Path({str(dead)!r}).touch()\n"
        "        os._exit(3)\n"
        "    return [0.0 for _ in completions]\n"
    )
    settle(made, tmp_path)
    words = heard(made, tmp_path, 1)
    assert words[1] == ("the start", "failed")
    assert words.count(("seed 1, rloo", "done")) == 1
