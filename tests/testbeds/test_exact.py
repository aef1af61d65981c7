"""The oracle: all replies, their chances, and gradients that the estimators have to agree with."""

from __future__ import annotations

import asyncio
import math

import pytest
import torch

from guerdon.methods.rloo import rloo
from guerdon.testbeds.arm import Budget, train_arm
from guerdon.testbeds.exact import Oracle, count, oracle_of, replies
from guerdon.testbeds.figures import exact, max_at_k, sampled
from guerdon.testbeds.symbols import Symbols
from guerdon.testbeds.trees import FOUR, strings


def test_all_replies_are_listed_once():
    ending = replies(Symbols("ab.", end="."), 2)
    assert ending.texts == ("", "a", "b", "aa", "ab", "ba", "bb")
    assert ending.mask.sum(1).tolist() == [1, 2, 2, 2, 2, 2, 2]
    assert count(Symbols("ab.", end="."), 2) == 7
    assert count(Symbols("abc"), 4) == len(replies(Symbols("abc"), 4).texts) == 81


def test_chances_add_up_and_a_uniform_policy_has_the_figures_it_must_have():
    testbed = strings(winning=FOUR)
    oracle = oracle_of(testbed)
    figures = exact(oracle, testbed.policy(0), ks=(1, 8))
    assert float(oracle.logp(testbed.policy(0)).detach().exp().sum()) == pytest.approx(1.0)
    assert figures["truth"] == pytest.approx(4 / 64)
    assert figures["entropy"] == pytest.approx(math.log(64))
    assert figures["modes"] == pytest.approx(4.0)
    assert figures["pass@8"] == pytest.approx(1 - (60 / 64) ** 8)
    assert figures["distinct@8"] == pytest.approx(4 * (1 - (63 / 64) ** 8))
    assert figures["max@1"] == pytest.approx(figures["truth"])
    assert figures["max@8"] == pytest.approx(figures["pass@8"])


def test_samples_say_what_the_oracle_says():
    testbed = strings(prompts=6, letters=3, length=2, ways=2, spread=1.0, seed=1)
    model = testbed.policy(3)
    told = exact(oracle_of(testbed), model, ks=(8,))
    found = asyncio.run(sampled(testbed, model, 400, (8,)))
    for name, value in told.items():
        assert found[name] == pytest.approx(value, rel=0.1, abs=0.05), name


def test_the_best_of_k_by_hand():
    assert max_at_k([0.0, 1.0, 0.5], 2) == pytest.approx((0.5 + 1 + 1) / 3)
    assert max_at_k([0.3, 0.1], 1) == pytest.approx(0.2)


def test_the_gradient_of_the_oracle_is_that_of_finite_differences():
    testbed = strings(letters=3, length=2, ways=2, spread=1.0)
    oracle, model = oracle_of(testbed), testbed.policy(0)
    found = oracle.gradient(model)["trunk.table"]
    at = model.trunk.row(0, "A")
    values = []
    for step in (1e-3, -1e-3):
        with torch.no_grad():
            model.table[at, 1] += step
            values.append(float(oracle.expected(model).detach()))
            model.table[at, 1] -= step
    assert float(found[at, 1]) == pytest.approx((values[0] - values[1]) / 2e-3, abs=1e-4)


def test_what_cannot_be_listed_is_refused():
    with pytest.raises(ValueError, match="replies"):
        Oracle(strings(letters=10, length=6, ways=1))


def test_kl_of_a_policy_to_itself_is_0_and_to_another_is_not():
    testbed = strings(spread=1.0)
    oracle = oracle_of(testbed)
    assert float(oracle.kl(testbed.policy(0), testbed.policy(0)).detach()) == 0
    assert float(oracle.kl(testbed.policy(0), testbed.policy(1)).detach()) > 0.1


def test_an_arm_learns_and_counts_what_it_used():
    testbed = strings(winning=FOUR)
    budget = Budget(1500, prompts=2, samples=8, points=5)
    found = train_arm(rloo(), testbed, 0, budget, lr=0.1)
    assert found.figures["truth"] > 0.5
    assert found.curve[0].figures["truth"] == pytest.approx(4 / 64)
    used = found.measured().budget
    assert 1500 <= used["sampled_tokens"] < 1500 + 48
    assert used["rollouts"] * 3 == used["sampled_tokens"]
    assert used["gradient_steps"] == len(found.log) == math.ceil(1500 / 48)
    again = train_arm(rloo(), testbed, 0, budget, lr=0.1)
    assert again.figures == found.figures, "equal seeds give equal figures"
    early = train_arm(rloo(), testbed, 0, budget, lr=0.1, until=lambda point: point.figures["truth"] > 0.3)
    assert early.measured().budget["sampled_tokens"] < 1500
