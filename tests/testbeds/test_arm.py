"""Arms: what is the same for all of them, what stops them, and what they may be given."""

from __future__ import annotations

import math

import pytest
import torch

from guerdon.engines.local import Optim
from guerdon.methods.dapo import dapo
from guerdon.methods.grpo import grpo
from guerdon.methods.ppo import ppo
from guerdon.methods.reinforce import reinforce
from guerdon.methods.rloo import rloo
from guerdon.rewards.base import PerEpisode
from guerdon.testbeds.arm import Budget, Point, area, assemble, run_arm, train_arm
from guerdon.testbeds.gradients import gradient_figures
from guerdon.testbeds.sampler import swapped
from guerdon.testbeds.trees import FOUR, strings

TESTBED = strings(prompts=4, letters=3, length=2, ways=2, spread=0.5)
SMALL = Budget(600, prompts=4, samples=8, points=3)


def draws(method, seed=0):
    parts = assemble(method, TESTBED, seed, SMALL)
    return [parts.source.tasks(i).id for i in range(8)], parts.start


def test_arms_of_a_seed_share_weights_and_tasks():
    (first, start), (second, other) = draws(grpo()), draws(rloo())
    assert first == second
    assert first != draws(grpo(), seed=1)[0]
    assert torch.equal(start.table, other.table)


def test_equal_budgets_are_used_by_methods_that_filter_and_that_do_not():
    for method in (grpo(minibatches=2), dapo(), ppo(epochs=2), reinforce()):
        used = run_arm(method, TESTBED, 0, SMALL, lr=0.1).budget
        assert 600 <= used["sampled_tokens"] < 600 + 2 * 4 * 8
        assert used["gradient_steps"] > 0


def test_filters_that_drop_all_end_an_arm_with_its_budget():
    flat = (PerEpisode("flat", lambda episode: 1.0),)
    found = train_arm(dapo(), TESTBED, 0, SMALL, rewards=flat)
    assert found.starved
    assert found.log == ()
    assert found.measured().budget["gradient_steps"] == 0
    assert found.figures["truth"] == pytest.approx(found.curve[0].figures["truth"])


def test_curves_begin_before_and_end_with_the_budget():
    found = train_arm(rloo(), TESTBED, 0, SMALL, lr=0.1)
    used = [point.used["sampled_tokens"] for point in found.curve]
    assert used[0] == 0
    assert used[-1] >= 600
    assert len(used) == 4
    assert used == sorted(used)
    assert torch.equal(found.start.table, TESTBED.policy(0).table), "the start stays as it was"
    assert not torch.equal(found.start.table, found.model.table)


def test_the_area_under_a_curve_by_hand():
    points = [Point({"sampled_tokens": at}, {"truth": height}) for at, height in ((0, 0.0), (10, 1.0), (30, 1.0))]
    assert area(points, "truth") == pytest.approx((5 + 20) / 30)
    assert area(points[:1], "truth") == 0.0


def test_an_arm_takes_another_start_other_rewards_and_other_roles():
    start = TESTBED.policy(5)
    backwards = (PerEpisode("less", lambda episode: -TESTBED.truth(episode.task, episode.reply)),)
    found = train_arm(rloo(), TESTBED, 0, SMALL, start=start, rewards=backwards, lr=0.1)
    assert torch.equal(found.start.table, start.table)
    assert found.figures["truth"] < found.curve[0].figures["truth"]
    kept = train_arm(grpo(beta=5.0), TESTBED, 0, SMALL, roles={"ref": start}, lr=0.1)
    other = train_arm(grpo(beta=5.0), TESTBED, 0, SMALL, lr=0.1)
    assert kept.figures != other.figures


def test_the_optimiser_can_be_given_whole():
    still = run_arm(rloo(), TESTBED, 0, SMALL, optim=Optim(lr=0.0))
    assert still.figures["truth"] == pytest.approx(still.figures["area"])


def test_stopping_at_matched_success():
    testbed = strings(winning=FOUR)
    budget = Budget(3000, prompts=2, samples=16, points=30)
    found = train_arm(rloo(), testbed, 0, budget, lr=0.2, until=lambda point: point.figures["right"] > 0.2)
    assert found.figures["right"] > 0.2
    assert all(point.figures["right"] <= 0.2 for point in found.curve[:-1])
    assert found.measured().budget["sampled_tokens"] < 3000


def test_budgets_are_positive():
    with pytest.raises(ValueError, match="samples is 0"):
        Budget(10, samples=0)


@pytest.mark.slow
def test_the_gradients_of_methods_beside_the_exact_one():
    testbed = strings(prompts=6, letters=3, length=2, ways=2, spread=1.0, lift=2.0)
    rloo_ = gradient_figures(rloo(), testbed, 0, 200, prompts=6, samples=4)
    assert abs(rloo_["squared_bias"]) < 0.02
    assert rloo_["spread"] > 0.1
    wrong = gradient_figures(rloo(), testbed, 0, 200, prompts=6, samples=4, noise=swapped(0.5))
    assert wrong["squared_bias"] > 0.02
    assert math.isfinite(wrong["spread"])
