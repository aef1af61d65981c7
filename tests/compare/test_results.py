"""Figures over seeds: pairs, marks, what is told and what is not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from guerdon.compare.base import Comparison, read_arm
from guerdon.compare.jobs import DECODES, RESULT, place_of
from guerdon.compare.results import Found, as_record, read
from guerdon.evaluation.protocol.base import Evaluated
from guerdon.evaluation.protocol.metrics import as_dict, figures
from guerdon.evaluation.protocol.store import write_evaluated
from tests.evaluation.protocol.made import of_answers

MADE = Comparison((read_arm("grpo"), read_arm("rloo")), 100, points=2, items=2, decodes=2, on_the_way=2)
START = of_answers({"x": ["b", "a"], "y": ["b", "?"]})
GOOD, FAIR = of_answers({"x": ["a", "a"], "y": ["a", "b"]}), of_answers({"x": ["a", "b"], "y": ["a", "b"]})
"""Accuracy 0.25, 0.75 and 0.5."""


def look(tokens: int, found: Evaluated) -> dict:
    return {"event": "eval", "tokens": tokens, "figures": figures(found)}


def result(arm: int, seed: int, end: Evaluated, spent: int = 104, ended: str = "budget") -> dict:
    used = {"sampled_tokens": spent, "trained_tokens": 90, "rollouts": 8, "gradient_steps": 2}
    return {
        "arm": MADE.arms[arm].spec,
        "seed": seed,
        "code": MADE.arms[arm].code,
        "ended": ended,
        "used": {**used, "judge_calls": 0, "judge_tokens": 0},
        "excess": max(0, spent - 100),
        "evaluation": as_dict(end),
        "curve": [look(60, FAIR), look(spent, end)] if spent > 60 else [look(spent, end)],
    }


def put(folder: Path, arm: int, seed: int, end: Evaluated, **changes: object) -> None:
    place = place_of(folder, MADE.arms[arm], seed)
    place.mkdir(parents=True)
    (place / RESULT).write_text(json.dumps(result(arm, seed, end, **changes)))  # type: ignore[arg-type]
    write_evaluated(place / DECODES, end)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """grpo is at 0.75 on both seeds, rloo at 0.5 and 0.75; a third seed is half done."""
    (tmp_path / "start.json").write_text(json.dumps({"evaluation": as_dict(START), "first": figures(START)}))
    write_evaluated(tmp_path / "start.jsonl", START)
    for arm, seed, end in ((0, 0, GOOD), (1, 0, FAIR), (0, 1, GOOD), (1, 1, GOOD), (0, 2, GOOD)):
        put(tmp_path, arm, seed, end)
    return tmp_path


def found_in(folder: Path) -> Found:
    found = read(folder, MADE)
    assert found is not None
    return found


def test_seeds_count_once_all_arms_have_done_them(folder: Path):
    found = found_in(folder)
    assert found.seeds == [0, 1]
    put(folder, 1, 2, GOOD)
    assert found_in(folder).seeds == [0, 1, 2]


def test_nothing_is_found_before_a_seed_is_whole(folder: Path, tmp_path: Path):
    assert read(tmp_path / "nowhere", MADE) is None
    (folder / "start.json").unlink()
    assert read(folder, MADE) is None


def test_an_arm_that_has_done_nothing_is_left_out(folder: Path):
    found = read(folder, replace(MADE, arms=(read_arm("ppo"), *MADE.arms)))
    assert found is not None
    assert list(found.results) == ["grpo", "rloo"]
    assert found.first.spec == "grpo"


def test_means_and_differences_are_over_seeds(folder: Path):
    found = found_in(folder)
    rloo = MADE.arms[1]
    assert found.mean(rloo, "accuracy").mean == 0.625
    one = found.difference(rloo, "accuracy")
    assert (one.mean, one.n) == (-0.125, 2)
    assert one.high - one.mean == pytest.approx(12.7062 * 0.125, rel=1e-4)


def test_a_curve_has_the_first_look_after_each_mark(folder: Path):
    points = found_in(folder).curve(MADE.arms[1], "accuracy")
    assert [(x, y.mean) for x, y in points] == [(0, 0.25), (50, 0.5), (100, 0.625)]


def test_an_arm_that_ended_early_stays_where_it_ended(folder: Path):
    for seed in (0, 1):
        path = place_of(folder, MADE.arms[1], seed) / RESULT
        path.write_text(json.dumps(result(1, seed, FAIR, spent=40, ended="Starved: all is learned")))
    found = found_in(folder)
    assert [y.mean for _, y in found.curve(MADE.arms[1], "accuracy")] == [0.25, 0.5, 0.5]
    assert found.early(MADE.arms[1]) == {0: "Starved: all is learned", 1: "Starved: all is learned"}
    assert found.used(MADE.arms[1])["excess"] == 0


def test_what_never_varies_is_not_told(folder: Path):
    found = found_in(folder)
    assert "truncated" in found.metrics
    assert "truncated" not in found.telling
    assert {"accuracy", "attempted", "pass@2"} <= set(found.telling)


def test_the_record_holds_all_of_it(folder: Path):
    record = as_record(found_in(folder), folder)
    rloo = record["arms"]["rloo"]
    assert rloo["metrics"]["accuracy"]["mean"] == 0.625
    assert rloo["difference"]["accuracy"]["mean"] == -0.125
    assert record["arms"]["grpo"]["difference"] == {}
    assert rloo["used_per_seed"] == {
        "sampled_tokens": 104,
        "trained_tokens": 90,
        "rollouts": 8,
        "gradient_steps": 2,
        "excess": 4,
    }
    assert rloo["shared_with_start"] == {"n": 3, "start": pytest.approx(1 / 3), "arm": pytest.approx((2 / 3 + 1) / 2)}
    assert rloo["errors"]["seeds"] == pytest.approx(0.125)
    assert [point["k"] for point in rloo["pass_at_k"]] == [1, 2]
    assert rloo["tokens_at_k"] == {1: 3, 2: 6}
    json.dumps(record)
