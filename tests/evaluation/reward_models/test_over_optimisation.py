import asyncio
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from guerdon.evaluation.reward_models.over_optimisation import course, from_start, page
from guerdon.models.load import load_policy
from guerdon.samplers.base import Sampling
from guerdon.samplers.local import LocalSampler
from guerdon.store import write_episodes
from guerdon.types import Episode, Score, Span, Task

PROXY, GOLD = "model:rm", "gold:sums"


def group(task, proxy, gold):
    spans = [Span([5, 6]), Span([7], [-0.5], 0, message={"role": "assistant", "content": "2"})]
    return [
        Episode(Task(task, "1+1="), list(spans), {PROXY: Score(proxy + i), GOLD: Score(gold + i)}) for i in (-0.1, 0.1)
    ]


@pytest.fixture
def run(tmp_path):
    """A run of 30 steps whose proxy rises and whose gold falls from step 10 on."""
    (tmp_path / "run.json").write_text(json.dumps({"rewards": {PROXY: 1.0, GOLD: 0.0}, "options": {"model": "tiny"}}))
    for step in range(1, 31):
        gold = step if step <= 10 else 20 - step
        groups = [group(f"t{i}", float(step), gold + 0.01 * i) for i in range(4)]
        write_episodes(tmp_path / "episodes" / f"step-{step:06d}.parquet", step, groups)
    return tmp_path


def test_the_course_of_a_run_turns_where_gold_is_highest(run):
    found = course(run, divergence=lambda groups: 0.1 * groups[0][0].scores[PROXY].value)
    assert (found.proxy, found.gold) == (PROXY, GOLD)
    assert len(found.moments) == 20
    assert (found.moments[0].step, found.moments[-1].step) == (1, 30)
    assert abs(found.peak.step - 10) <= 1
    assert found.fallen.high < 0
    assert found.moments[-1].kl == pytest.approx(3, abs=0.1)
    assert json.loads(json.dumps(found.as_dict()))["peak"]["step"] == found.peak.step


def test_rewards_can_be_named_and_have_to_be_there(run):
    turned = course(run, proxy=GOLD, gold=PROXY)
    assert turned.peak.step == 30
    assert turned.fallen is None
    assert math.isnan(turned.peak.kl)
    with pytest.raises(ValueError, match="no reward 'gold:sum'"):
        course(run, gold="gold:sum")
    (run / "run.json").write_text(json.dumps({"rewards": {PROXY: 1.0}}))
    with pytest.raises(ValueError, match="one of weight 0 to watch"):
        course(run)


def test_a_run_without_episodes_is_told_so(tmp_path):
    (tmp_path / "run.json").write_text(json.dumps({"rewards": {PROXY: 1.0, GOLD: 0.0}}))
    with pytest.raises(ValueError, match="has stored no episodes"):
        course(tmp_path)


def test_the_page_shows_both_curves_and_escapes_names(run):
    found = course(run)
    text = page("<b>", [(one.step, one.proxy, one.gold) for one in found.moments], "step", ["Proxy & gold"])
    assert text.count("<svg") == 2
    assert text.count("<tr>") == 21
    assert "<h1>&lt;b&gt;</h1>" in text
    assert "Proxy &amp; gold" in text


async def sampled(policy, temperature, n):
    sampler = LocalSampler(policy.module, policy.tokenizer)
    prompt = np.asarray(policy.tokenizer("12+7=", add_special_tokens=False)["input_ids"])
    how = Sampling(max_tokens=4, temperature=temperature, stop_tokens=policy.stop_tokens)
    drawn = await sampler.sample(prompt, how, list(range(n)))
    return [[Episode(Task("t", "12+7="), [Span(prompt), replace(one.spans[0], parent=0)]) for one in drawn]]


def test_the_policy_that_a_run_began_with_is_at_no_distance():
    policy = load_policy("tiny")
    estimate = from_start("tiny")
    assert estimate(asyncio.run(sampled(policy, 1.0, 32))) == pytest.approx(0, abs=1e-3)
    with_noise = load_policy("tiny")
    for name, parameter in with_noise.module.named_parameters():
        if "norm" not in name:
            parameter.data += 0.05 * parameter.data.std() * (1 if len(name) % 2 else -1)
    assert estimate(asyncio.run(sampled(with_noise, 1.0, 64))) > 0.005
