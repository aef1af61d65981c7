"""What arms share and what they may set themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from guerdon.compare.base import OWN, PARITY, Comparison, read_arm, shared_keys
from guerdon.keys import UsageError
from guerdon.run import Options
from tests.compare.arms import comparison


def test_an_arm_is_a_recipe_with_settings_of_its_own():
    arm = read_arm("grpo?clip-high=0.28&lr=1e-4&minibatches=2")
    assert (arm.recipe, dict(arm.settings)) == ("grpo", {"clip_high": 0.28, "lr": 1e-4, "minibatches": 2})
    assert "?" not in arm.folder
    assert len(arm.code) == 16
    assert read_arm("grpo").code == arm.code != read_arm("rloo").code


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("grpoo", "did you mean 'grpo'"),
        ("grpo?clip_hihg=0.3", "did you mean 'clip_high'"),
        ("grpo?temperature=0.5", "the same for all arms; give it to all: --temperature 0.5"),
        ("grpo?steps=5", "set by the comparison"),
        ("grpo?lr=fast", "expected a number"),
    ],
)
def test_arms_that_make_no_sense(spec: str, message: str):
    with pytest.raises(ValueError, match=message):
        read_arm(spec)


def test_every_option_is_shared_or_may_be_given_or_is_the_comparisons():
    assert set(PARITY) <= set(Options.__dataclass_fields__)
    assert shared_keys().keys() | set(OWN) == set(Options.__dataclass_fields__)


def test_it_survives_json(model: Path, tmp_path: Path):
    made = comparison(model, tmp_path, "grpo?lr=1e-4", "rloo", temperature=0.7)
    again = Comparison.from_dict(json.loads(json.dumps(made.as_dict())))
    assert again == made
    assert again.shared["temperature"] == 0.7
    assert again.marks == (50, 100)


def test_runs_of_a_seed_differ_in_nothing_but_the_method(model: Path, tmp_path: Path):
    made = comparison(model, tmp_path, "grpo?lr=1e-4", "dapo", "ppo")
    runs = [made.run(arm, 3) for arm in made.arms]
    for name in (*PARITY, "seed", "schedule", "prompts_per_step"):
        assert len({getattr(run.options, name) for run in runs}) == 1, name
    assert [run.options.lr for run in runs] == [1e-4, 1e-2, 1e-2]
    assert runs[1].method.settings["max_new_tokens"] == 4
    assert runs[0].options.seed == 3


def test_what_learns_from_rows_has_no_budget_of_tokens(model: Path, tmp_path: Path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"prompt": "1+1=", "completion": "2"}\n' * 3)
    made = comparison(model, tmp_path, f"sft?data={rows}")
    with pytest.raises(UsageError, match="learns from rows"):
        made.run(made.arms[0], 0)


OTHER = """
from guerdon.methods.grpo import grpo
from guerdon.run import Options, Run
from guerdon.tasks.spec import load_tasks

def hot(model: str, tasks: str = "arithmetic", reward: str | None = None, max_new_tokens: int = 4,
        prompts_per_step: int = 2, samples_per_prompt: int = 4, lr: float = 1e-2) -> Run:
    found = load_tasks(tasks)
    options = Options(model=model, tasks=tasks, reward=reward, max_new_tokens=max_new_tokens, temperature=2.0)
    return Run(grpo(), options, found, rewards=(found.reward,))
"""


def test_a_recipe_of_ones_own_must_share_what_the_others_share(model: Path, tmp_path: Path):
    (tmp_path / "own.py").write_text(OTHER)
    made = comparison(model, tmp_path, f"{tmp_path / 'own.py'}:hot")
    with pytest.raises(UsageError, match=r"has temperature 2\.0 and the others 1\.0"):
        made.run(made.arms[0], 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budget": 0}, "budget is 0"),
        ({"on_the_way": 9, "decodes": 8}, "no more than that"),
        ({"arms": (read_arm("grpo"), read_arm("grpo"))}, "given twice"),
    ],
)
def test_comparisons_that_make_no_sense(changes: dict, message: str):
    with pytest.raises(UsageError, match=message):
        Comparison(**{"arms": (read_arm("grpo"),), "budget": 10, **changes})


def test_the_protocol_is_of_the_shared_options(model: Path, tmp_path: Path):
    found = comparison(model, tmp_path, temperature=0.5).protocol
    assert (found.decoding.temperature, found.decoding.max_tokens, found.items, found.decodes) == (0.5, 4, 3, 4)
    assert found.verifier.startswith("score@")


def test_a_method_that_learns_from_rows_has_no_budget_of_tokens(model: Path, tmp_path: Path):
    made = comparison(model, tmp_path, "grpo", "dpo")
    with pytest.raises(UsageError, match="dpo learns from rows and samples nothing"):
        made.run(made.arms[1], 0)
