"""Recipes made from constructors: every key once, every default taken from where it is written."""

from __future__ import annotations

import inspect
from dataclasses import fields
from types import SimpleNamespace

import pytest

from guerdon.keys import keys_of
from guerdon.method import Card, Method
from guerdon.methods import dpo as dpo_file
from guerdon.methods import grpo as grpo_file
from guerdon.recipes import constructors, find_recipe, make_run, method_files, recipes
from guerdon.recipes.compose import compose
from guerdon.recipes.offline import SPEAKING, WITHOUT
from guerdon.run import Options, Run


def test_every_method_file_gives_a_recipe():
    known = recipes()
    assert {"grpo", "ppo", "dr_grpo", "rloo_clipped", "reinforce_pp_baseline", "sft", "dpo", "tis"} <= set(known)
    assert "truncated_importance" not in known
    made = {c.__name__ for module in method_files() for c in constructors(module)}
    assert made == set(known)


@pytest.mark.parametrize("name", sorted(recipes()))
def test_every_recipe_takes_the_options_and_makes_a_run(name: str):
    keys = keys_of(recipes()[name])
    offline = "data" in keys
    expected = {f.name for f in fields(Options)} - (set(WITHOUT) - {"tasks"} if offline else set())
    if "reward" not in keys:  # a reward model says nothing, and is not evaluated on tasks
        expected -= {*SPEAKING, "tasks"}
    assert expected <= set(keys)
    assert all(key.help for key in keys.values() if key.name in expected)
    run = make_run(name, {"steps": 3, **({"data": "rows.jsonl"} if offline else {})})
    assert isinstance(run, Run)
    assert run.options.steps == 3
    assert run.recipe == name
    assert run.options.model == "tiny"
    assert (run.source is None) is not offline


def test_a_name_may_have_hyphens():
    assert find_recipe("dr-grpo").__name__ == "dr_grpo"
    with pytest.raises(ValueError, match="did you mean 'dapo'"):
        find_recipe("dapoo")


def test_a_setting_that_is_an_option_too_is_one_key_with_the_default_of_the_option():
    assert make_run("dr_grpo", {"max_new_tokens": 9}).method.settings["max_new_tokens"] == 9
    run = make_run("dr_grpo", {})
    assert run.method.settings["max_new_tokens"] == run.options.max_new_tokens == Options().max_new_tokens


def test_truncated_importance_sampling_is_an_option_of_every_method_on_rollouts():
    plain, corrected = make_run("gspo", {}), make_run("gspo", {"tis_cap": 3.0})
    assert "correction_cap" not in plain.method.settings
    assert corrected.method.settings["correction_cap"] == 3.0
    assert "tis_cap" not in keys_of(find_recipe("tis"))


def test_a_named_reward_scores_training_and_evaluation():
    run = make_run("grpo", {"reward": "exact"})
    assert [reward.name for reward in run.rewards] == ["exact"]
    assert run.tasks is not None
    assert run.tasks.reward is run.rewards[0]


def _build(method: Method, options: Options, further: object) -> Run:
    return Run(method, options, source=lambda parts: None)  # type: ignore[arg-type, return-value]


def test_defaults_come_from_the_file_first():
    module = SimpleNamespace(CARD=grpo_file.CARD, __name__="made_up", DEFAULTS={"lr": 0.5, "beta": 0.25})
    recipe = compose(grpo_file.grpo, module, _build, defaults={"lr": 0.1, "steps": 7})  # type: ignore[arg-type]
    defaults = {name: p.default for name, p in inspect.signature(recipe).parameters.items()}
    assert (defaults["lr"], defaults["steps"], defaults["beta"]) == (0.5, 7, 0.25)
    run = recipe(clip_low=0.3)
    assert (run.options.lr, run.options.steps) == (0.5, 7)
    assert (run.method.settings["beta"], run.method.settings["clip_low"]) == (0.25, 0.3)


def test_a_default_that_nothing_takes_is_refused():
    module = SimpleNamespace(CARD=dpo_file.CARD, __name__="made_up", DEFAULTS={"learning_rate": 1.0})
    with pytest.raises(ValueError, match="learning_rate"):
        compose(dpo_file.dpo, module, _build)  # type: ignore[arg-type]


def test_an_unknown_argument_is_refused_by_python_too():
    with pytest.raises(TypeError, match="beta_2"):
        find_recipe("grpo")(beta_2=1.0)


def test_the_card_is_the_help():
    assert isinstance(grpo_file.CARD, Card)
    assert (inspect.getdoc(find_recipe("grpo")) or "").startswith(f"{grpo_file.CARD.name}. {grpo_file.CARD.summary}")
