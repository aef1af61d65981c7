"""A dry run: arithmetic that can be checked by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from guerdon.method import Method, Role
from guerdon.models.size import Size
from guerdon.plan import memory_mb, plan, step_counts, step_seconds
from guerdon.recipes import make_run
from guerdon.run import Options
from tests.models.small import saved

SIZE = Size(weights=1_000_000, trained=1_000_000, layers=2, width=8, vocabulary=100, kv_width=16)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("model"))


def test_memory_of_the_parts():
    method = make_run("grpo", {}).method
    found = memory_mb(SIZE, Options(slots=10, max_new_tokens=68, tokens_per_micro_batch=1000), method)
    assert (found["weights"], found["gradients"], found["AdamW"]) == (4.0, 4.0, 8.0)
    assert found["KV cache"] == round(10 * 100 * 2 * 16 * 4 / 1e6, 1)
    assert found["logits"] == 0.8


def test_no_more_is_held_than_a_batch_has():
    method = make_run("grpo", {}).method
    small = Options(prompts_per_step=2, samples_per_prompt=3, max_new_tokens=8, slots=100)
    found = memory_mb(Size(1_000_000, 1_000_000, 100, 100, 100_000, 1000), small, method)
    batch = 2 * 32 + 6 * 8
    assert found["KV cache"] == round(6 * 40 * 100 * 1000 * 4 / 1e6, 1)
    assert found["logits"] == round(batch * 100_000 * 4 * 2 / 1e6, 1)


def test_a_value_model_and_a_reference_take_memory_too():
    method: Method = make_run("ppo", {}).method
    assert set(method.roles) == {"value", "ref"}
    found = memory_mb(SIZE, Options(), method)
    assert (found["weights"], found["gradients"], found["AdamW"]) == (12.0, 8.0, 16.0)
    shared = Method(method.terms, roles={"judge": Role(shares="policy")})
    assert memory_mb(SIZE, Options(), shared)["weights"] == 4.0


def test_half_precision_adapters_and_checkpointing_take_less():
    method = make_run("grpo", {}).method
    full = memory_mb(SIZE, Options(), method)
    lora = memory_mb(Size(1_000_000, 10_000, 2, 8, 100, 16), Options(dtype="bfloat16"), method)
    assert lora["weights"] == full["weights"] / 2
    assert lora["AdamW"] < 0.1
    assert memory_mb(SIZE, Options(gradient_checkpointing=True), method)["activations"] < full["activations"]


def test_what_a_step_does():
    run = make_run(
        "ppo", {"prompts_per_step": 3, "samples_per_prompt": 5, "max_new_tokens": 7, "minibatches": 2, "epochs": 4}
    )
    assert step_counts(run) == {"prompts": 3, "rollouts": 15, "sampled_tokens": 105, "gradient_steps": 8}
    rows = make_run("sft", {"data": "x.jsonl", "prompts_per_step": 6})
    assert step_counts(rows) == {"rows": 6, "rollouts": 0, "sampled_tokens": 0, "gradient_steps": 1}


def test_time_grows_with_the_model_and_the_epochs():
    method = make_run("grpo", {}).method
    step = {"prompts": 2, "rollouts": 4, "sampled_tokens": 40, "gradient_steps": 1}
    once = step_seconds(SIZE, step, method, 1e9)
    assert step_seconds(Size(2_000_000, 1, 2, 8, 100, 16), step, method, 1e9) == pytest.approx(2 * once)
    assert step_seconds(SIZE, step, make_run("grpo", {"epochs": 2}).method, 1e9) > once


def test_a_plan_of_a_folder(model: Path):
    found = plan(make_run("grpo", {"model": str(model), "steps": 10}))
    assert found.run["recipe"] == "grpo"
    assert found.total_seconds > 9 * found.step_seconds > 0
    listed = found.as_dict()
    assert listed["total_memory_mb"] == pytest.approx(sum(found.memory_mb.values()), abs=0.1)


def test_a_model_that_is_not_there_is_named():
    with pytest.raises(FileNotFoundError, match="nowhere"):
        plan(make_run("grpo", {"model": "./nowhere"}))
