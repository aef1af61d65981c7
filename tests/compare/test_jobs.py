"""Training an arm up to its budget: looks at their marks, resuming, and what ends it early."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from guerdon.compare.base import Comparison
from guerdon.compare.jobs import DECODES, Job, do, jobs_of, place_of, result_of
from guerdon.evaluation.protocol.store import read_evaluated
from guerdon.metrics import read_events
from tests.compare.arms import comparison, ignore, never


def done(made: Comparison, folder: Path, job: Job) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    assert do(made, folder, job, ignore, never)
    found = result_of(folder, made, job)
    assert found is not None
    return found


def timeless(found: dict[str, Any]) -> dict[str, Any]:
    curve = [{k: v for k, v in event.items() if k != "time"} for event in found["curve"]]
    return {**found, "seconds": 0, "curve": curve}


def test_arms_come_in_turn_after_the_start(model: Path, tmp_path: Path):
    made = comparison(model, tmp_path)
    assert list(map(str, jobs_of(made, 2))) == [
        "the start",
        *("seed 0, grpo", "seed 0, rloo", "seed 1, grpo", "seed 1, rloo"),
    ]


def test_an_arm_stops_with_the_step_that_reaches_the_budget(model: Path, tmp_path: Path):
    made = comparison(model, tmp_path)
    said: list[int] = []
    job = Job("grpo", 0)
    assert do(made, tmp_path, job, lambda spent, of: said.append(spent), never)
    found = result_of(tmp_path, made, job)
    assert found is not None
    assert said == sorted(said)
    assert said[-1] == found["used"]["sampled_tokens"] >= 100 > said[-2]
    assert found["excess"] == said[-1] - 100
    assert (found["ended"], found["steps"], found["used"]["gradient_steps"]) == ("budget", len(said), len(said))
    first, last = found["curve"]
    assert first["tokens"] == next(spent for spent in said if spent >= 50)
    assert last["tokens"] == said[-1]
    folder = place_of(tmp_path, made.arms[0], 0)
    kept = read_evaluated(folder / DECODES)
    assert kept.protocol == made.protocol
    assert len(kept.decodes) == 3 * 4
    assert not (folder / "checkpoints").exists()
    assert [event["event"] for event in read_events(folder / "metrics.jsonl")].count("step") == len(said)


def test_the_start_is_the_policy_of_all_arms(model: Path, tmp_path: Path):
    made = comparison(model, tmp_path)
    start = done(made, tmp_path, Job(""))
    still = replace(made, given={**made.given, "lr": 0.0})
    end = done(still, tmp_path, Job("grpo", 0))
    assert end["evaluation"] == start["evaluation"]  # nothing was learned, and the decodes have the same seeds
    assert end["curve"][0]["figures"] == start["first"]


def test_going_on_gives_what_an_arm_that_was_not_stopped_gives(model: Path, tmp_path: Path):
    made, job = comparison(model, tmp_path, budget=200), Job("grpo", 1)
    whole = done(made, tmp_path / "whole", job)
    asked = iter([False, True])
    (tmp_path / "part").mkdir()
    assert not do(made, tmp_path / "part", job, ignore, lambda: next(asked))
    assert result_of(tmp_path / "part", made, job) is None
    rest = done(made, tmp_path / "part", job)
    assert timeless(rest) == timeless(whole)
    decodes = [place_of(tmp_path / name, made.arms[0], 1) / DECODES for name in ("whole", "part")]
    assert decodes[0].read_text() == decodes[1].read_text()


def test_an_arm_whose_checkpoint_is_damaged_begins_anew(model: Path, tmp_path: Path):
    made, job = comparison(model, tmp_path, budget=200), Job("grpo", 0)
    asked = iter([False, True])
    assert not do(made, tmp_path, job, ignore, lambda: next(asked))
    (folder,) = (place_of(tmp_path, made.arms[0], 0) / "checkpoints").iterdir()
    (folder / "learner.pt").write_bytes(b"no checkpoint")
    assert done(made, tmp_path, job)["steps"] > 2


def test_what_an_older_version_of_a_method_did_is_not_kept(model: Path, tmp_path: Path):
    made, job = comparison(model, tmp_path), Job("grpo", 0)
    done(made, tmp_path, job)
    path = place_of(tmp_path, made.arms[0], 0) / "result.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "code": "older"}))
    assert result_of(tmp_path, made, job) is None
    (path.parent / "code.txt").write_text("older")
    again = done(made, tmp_path, job)
    assert again["code"] == made.arms[0].code


def test_who_has_nothing_left_to_learn_ends_early_and_is_evaluated(model: Path, tmp_path: Path):
    made = comparison(model, tmp_path, "dapo", reward="exact")  # which a random model never earns
    found = done(made, tmp_path, Job("dapo", 0))
    assert found["ended"].startswith("Starved: ")
    assert found["excess"] == 0
    assert found["evaluation"]["figures"]["accuracy"] == 0.0


@pytest.mark.parametrize("seed", [0, 1])
def test_all_arms_of_a_seed_meet_the_same_tasks(model: Path, tmp_path: Path, seed: int):
    from guerdon.store import read_episodes

    made = comparison(model, tmp_path)
    met = []
    for arm in made.arms:
        done(made, tmp_path, Job(arm.spec, seed))
        files = sorted((place_of(tmp_path, arm, seed) / "episodes").glob("step-*.parquet"))
        met.append([group[0].task.id for file in files[:2] for group in read_episodes(file)])
    assert met[0] == met[1]
