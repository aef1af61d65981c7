"""DPO as a run: levels from the command line, adapters with the base as reference, pairs that are held out."""

import asyncio
import json
import math

import pytest
import torch

from guerdon.keys import keys_of, parse
from guerdon.learner import Learner
from guerdon.likelihoods.autoregressive import WithoutAdapters
from guerdon.losses.preference import token_average, token_sum
from guerdon.metrics import values
from guerdon.parts import load_parts, make_source
from guerdon.recipes import find_recipe, make_run
from tests.models.small import saved

PAIRS = [{"prompt": f"{i}+1=", "chosen": str(i + 1), "rejected": f"{i}{i}"} for i in range(8)]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in PAIRS))
    return str(path)


def made(name, file, tmp_path, **arguments):
    small = {"prompts_per_step": 4, "lr": 1e-2, "model": str(saved(tmp_path / "model"))}
    return make_run(name, {"data": file, **small, **arguments})


@pytest.mark.parametrize("name", ["dpo", "ipo", "kto", "online_dpo"])
def test_the_level_is_a_word_of_the_command_line(name):
    keys = keys_of(find_recipe(name))
    assert keys["level"].default == "sum"
    assert parse(keys, ["--level", "mean"], "help") == {"level": "mean"}


@pytest.mark.parametrize(("word", "level"), [("sum", token_sum), ("mean", token_average)])
def test_the_word_reaches_the_loss(word, level, file, tmp_path):
    run = made("dpo", file, tmp_path, level=word)
    assert run.method.terms[0].objective.level is level
    assert run.method.settings["level"] == word


def learn(run, steps):
    """(parts, the numbers of each update)"""
    parts = load_parts(run)

    async def go():
        learner = Learner(run.method, parts.engines)
        async with make_source(parts) as source:
            return [values(await learner.update((await source.take(i)).groups)) for i in range(steps)]

    return parts, asyncio.run(go())


def test_with_adapters_the_base_is_the_reference_and_stays_it(file, tmp_path):
    run = made("dpo", file, tmp_path, lora_rank=2, beta=0.5, heldout="0")
    before = load_parts(run).engines["policy"].module.state_dict()
    parts, steps = learn(run, 6)
    assert isinstance(parts.engines["ref"].likelihood, WithoutAdapters)
    assert parts.engines["ref"].module is parts.engines["policy"].module
    assert steps[0]["loss/preference"] == pytest.approx(math.log(2), abs=1e-5)
    assert steps[-1]["loss/preference"] < steps[0]["loss/preference"]
    for name, tensor in parts.engines["policy"].module.state_dict().items():
        assert "lora_" in name or torch.equal(tensor, before[name])


def test_adapters_and_a_whole_policy_have_the_same_reference(file, tmp_path):
    batches = {}
    for rank in (0, 2):
        run = made("dpo", file, tmp_path, lora_rank=rank, heldout="0")
        parts = load_parts(run)
        learner = Learner(run.method, parts.engines)
        groups = asyncio.run(make_source(parts).take(0)).groups
        asyncio.run(learner.update(groups))
        batches[rank] = learner.last["policy"].stream("ref")
    torch.testing.assert_close(batches[0], batches[2], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ["dpo", "ipo", "simpo", "orpo"])
def test_a_tenth_of_the_pairs_is_held_out_and_ranked_where_no_tasks_are_named(name, file, tmp_path):
    run = made(name, file, tmp_path, heldout="0.5", steps=1)
    parts = load_parts(run)
    held = len(run.measure(parts)().groups)
    learned = len(make_source(parts).groups)
    assert held + learned == len(PAIRS)
    assert held > 0
    assert run.source.count() == learned
    assert made(name, file, tmp_path, steps=1).source.heldout == "0.1"


def test_a_run_is_evaluated_on_tasks_or_on_pairs(file, tmp_path):
    run = made("dpo", file, tmp_path, tasks="arithmetic", steps=1)
    assert run.measure is None
    assert run.source.heldout == "0"
    with pytest.raises(ValueError, match="tasks and heldout are both given"):
        made("dpo", file, tmp_path, tasks="arithmetic", heldout="0.2")


@pytest.mark.parametrize("name", ["dpo", "ipo", "simpo", "orpo"])
def test_it_learns_to_rank_its_pairs(name, file, tmp_path):
    run = made(name, file, tmp_path, heldout=file, passes=10.0)
    parts = load_parts(run)
    measure = run.measure(parts)
    before = measure()

    async def go():
        learner = Learner(run.method, parts.engines)
        async with make_source(parts) as source:
            for i in range(run.options.steps):
                await learner.update((await source.take(i)).groups)

    asyncio.run(go())
    after = measure()
    assert run.options.steps == 20
    assert after.accuracy.mean > max(before.accuracy.mean, 0.9)
    assert after.margin.mean > before.margin.mean
