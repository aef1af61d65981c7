"""Reward models as runs: learned from rows, resumed, gone on from, and used as a reward."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from guerdon.losses.reward_model import AllPairs, PlackettLuce
from guerdon.methods.bradley_terry import bradley_terry
from guerdon.methods.process_rm import outcome_rm, process_rm
from guerdon.methods.ranked_rm import ranked_rm
from guerdon.methods.regression_rm import regression_rm
from guerdon.models.reward import load_reward_model, names_of
from guerdon.recipes import make_run
from guerdon.rewards.scorer import load_scorer
from guerdon.runner import execute
from tests.models.small import saved
from tests.runs import Crash, crash_at, history

SMALL: dict[str, Any] = {"steps": 4, "prompts_per_step": 4, "save_every": 2, "eval_every": 2, "lr": 1e-2}
PAIRS = [{"prompt": f"{i}+1=", "chosen": str(i + 1), "rejected": str(i), "margin": 0.5, "p": 0.8} for i in range(9)]


@pytest.fixture
def model(tmp_path) -> str:
    return str(saved(tmp_path / "lm"))


def rows(path: Path, found: list[Mapping[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in found))
    return str(path)


def run(name: str, tmp_path: Path, found: list[Mapping[str, Any]], model: str, **arguments: Any):
    data = rows(tmp_path / "rows.jsonl", found)
    return make_run(name, {**SMALL, "data": data, "heldout": data, "model": model, **arguments})


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_reward_model(str(folder)).module.state_dict()


@pytest.mark.parametrize("form", [{}, {"lora_rank": 2}, {"frozen_trunk": True}, {"dtype": "bfloat16"}], ids=str)
def test_a_run_that_died_goes_on_bit_for_bit(tmp_path, model, form):
    made = run("bradley_terry", tmp_path, PAIRS, model, **form)
    execute(made, tmp_path / "straight")
    with pytest.raises(Crash):
        execute(made, tmp_path / "died", sinks=[crash_at(3)])
    execute(made, tmp_path / "died", resume=True)
    one, other = weights(tmp_path / "straight"), weights(tmp_path / "died")
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert history(tmp_path / "straight") == history(tmp_path / "died")


def test_it_learns_the_rows_by_heart_and_says_so(tmp_path, model):
    outcome = execute(run("bradley_terry", tmp_path, PAIRS, model, steps=30, eval_every=0), tmp_path / "run")
    assert outcome.summary["heldout_after"]["mean"] == 1.0
    scorer = load_scorer(str(tmp_path / "run"))
    said = [[{"role": "user", "content": "3+1="}, {"role": "assistant", "content": one}] for one in ("4", "3")]
    better, worse = scorer.score(said)
    assert better > worse


def test_a_run_on_a_reward_model_goes_on_from_it(tmp_path, model):
    execute(run("bradley_terry", tmp_path, PAIRS, model), tmp_path / "first")
    again = run("bradley_terry", tmp_path, PAIRS, str(tmp_path / "first"), steps=1, lr=1e-9)
    execute(again, tmp_path / "second")
    for name, weight in weights(tmp_path / "first").items():
        torch.testing.assert_close(weights(tmp_path / "second")[name], weight, atol=1e-6, rtol=0)


def test_a_frozen_trunk_is_the_language_models_own(tmp_path, model):
    execute(run("bradley_terry", tmp_path, PAIRS, model, frozen_trunk=True), tmp_path / "run")
    before = load_trunk(model)
    after = {name.removeprefix("model."): w for name, w in weights(tmp_path / "run").items() if "score" not in name}
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)


def load_trunk(model: str) -> dict[str, torch.Tensor]:
    from guerdon.models.load import load_policy

    return load_policy(model).module.model.state_dict()


def test_a_soft_label_comes_from_the_column_that_is_named(tmp_path, model):
    made = run("bradley_terry", tmp_path, PAIRS, model, soft="p", steps=2)
    assert made.method.terms[0].objective.soft == "p"
    execute(made, tmp_path / "run")
    lacking = run("bradley_terry", tmp_path, [{k: v for k, v in row.items() if k != "p"} for row in PAIRS], model)
    with pytest.raises(ValueError, match=r"no column 'p'"):
        execute(make_run("bradley_terry", {**lacking.arguments, "soft": "p"}), tmp_path / "other")


KINDS = {
    "regression_rm": (
        [
            {"prompt": f"{i}+1=", "completion": str(i + j), "good": float(j), "kind": 1.0}
            for i in range(5)
            for j in (0, 1)
        ],
        {"columns": "good, kind"},
        ("good", "kind"),
    ),
    "ranked_rm": (
        [{"prompt": f"{i}+1=", "ranked": [str(i + 1), str(i), "0+0"]} for i in range(1, 6)],
        {},
        ("score",),
    ),
    "process_rm": (
        [{"prompt": f"{i}+1+1=", "completions": [f"{i}+1={i + 1}", "9"], "labels": [True, False]} for i in range(6)],
        {},
        ("score",),
    ),
    "outcome_rm": (
        [{"prompt": f"{i}+1=", "completion": str(i + j), "label": j == 1} for i in range(5) for j in (0, 1)],
        {},
        ("score",),
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_the_other_kinds_learn_their_rows_by_heart(name, tmp_path, model):
    found, arguments, heads = KINDS[name]
    made = run(name, tmp_path, found, model, steps=40, eval_every=0, **arguments)
    outcome = execute(made, tmp_path / "run")
    assert names_of(load_reward_model(str(tmp_path / "run")).module) == heads
    assert outcome.summary["heldout_after"]["mean"] > 0.9


def test_rankings_of_too_few_or_equal_replies_are_named_with_their_row(tmp_path, model):
    for ranked, message in ((["1"], "two replies or more"), (["1", "1"], "same reply twice"), ("1", "a list")):
        made = run("ranked_rm", tmp_path, [{"prompt": "1=", "ranked": ranked}], model)
        with pytest.raises(ValueError, match=message):
            execute(made, tmp_path / "run")


def test_they_are_values_with_their_knobs():
    assert bradley_terry(margins=True, centring=0.1).settings["centring"] == 0.1
    assert [term.objective.head for term in regression_rm("a, b").terms] == ["a", "b"]
    assert regression_rm("a, b").scores.names == ("a", "b")
    assert isinstance(ranked_rm(pairs=True).terms[0].objective, AllPairs)
    assert isinstance(ranked_rm().terms[0].objective, PlackettLuce)
    assert process_rm(frozen_trunk=True).scores.frozen_trunk
    assert outcome_rm(minibatches=2).minibatches == 2
    with pytest.raises(ValueError, match="no name twice"):
        regression_rm("a,a")


@pytest.mark.slow
def test_a_policy_learns_from_a_trained_reward_model(tmp_path):
    """Sums: pairs of known truth, a reward model of them, and the tiny policy that earns what it says."""
    from guerdon.synthetic.kinds import sums, write

    made = sums(rows=600, heldout=200, temperature=0.2)
    write(made.train, tmp_path / "sums.jsonl")
    write(made.heldout, tmp_path / "held.jsonl")
    arguments = {"data": str(tmp_path / "sums.jsonl"), "heldout": str(tmp_path / "held.jsonl"), "steps": 60}
    outcome = execute(make_run("bradley_terry", {**arguments, "eval_every": 0}), tmp_path / "rm")
    assert outcome.summary["heldout_after"]["mean"] > 0.65
    reward = f"0*numeric,model:{tmp_path / 'rm'}?name=learned"
    online = {"reward": reward, "tasks": "arithmetic", "steps": 12, "prompts_per_step": 16, "eval_every": 0}
    execute(make_run("grpo", {**online, "eval_tasks": 32}), tmp_path / "run")
    steps = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    earned = [event["metrics"]["reward/learned"] for event in steps if event["event"] == "step"]
    assert sum(earned[-3:]) > sum(earned[:3])
