"""What an update says about itself, and whose log-probabilities it compares with whose."""

import copy
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from guerdon.advantages.group import GroupMean
from guerdon.losses.policy import Corrected, PolicyGradient
from guerdon.method import Role, Term
from guerdon.methods import grpo, ppo, reinforce_pp
from guerdon.metrics import values
from guerdon.replay import Saved
from guerdon.store import write_episodes
from guerdon.types import Score, Span
from tests.invariants.world import build, strip


@pytest.mark.parametrize(("epochs", "minibatches"), [(3, 1), (1, 4), (2, 2)])
def test_a_loss_is_the_mean_over_gradient_steps_however_many_there_are(epochs, minibatches):
    def loss(**settings):
        world = build(ppo, ppo.ppo(beta=0.0, value_clip=None, **settings), lr=0.0)
        return values(world.update([world.groups()[0]] * 4))["value/loss/value"]

    assert loss(epochs=epochs, minibatches=minibatches) == pytest.approx(loss(epochs=1), rel=1e-4)


def test_every_engine_has_numbers_of_its_own():
    world = build(ppo, ppo.ppo(epochs=1))
    value = world.learner.engines["value"]
    value.optim = replace(value.optim, lr=0.5)
    found = values(world.update(world.groups()))
    assert (found["lr"], found["value/lr"]) == pytest.approx((1e-2, 0.5))
    assert found["grad_norm"] != found["value/grad_norm"]


def test_a_role_with_the_policys_weights_has_a_loss_of_its_own_but_no_step():
    judge = Role(shares="policy", estimator=GroupMean(), terms=(Term(PolicyGradient()),))
    world = build(grpo, replace(grpo.grpo(), roles={"judge": judge}))
    groups = world.groups()
    judged = tuple(replace(copy.deepcopy(one), role="judge") for one in groups[1])
    groups[0][0].scores["judge"] = Score(episodes=judged)
    found = values(world.update(groups))
    assert {"loss/policy", "judge/loss/policy", "grad_norm"} <= found.keys()
    assert "judge/grad_norm" not in found


@pytest.mark.parametrize("method", [reinforce_pp.reinforce_pp_baseline(beta=0.0), ppo.ppo(beta=10.0)])
def test_the_return_is_what_rewards_gave_not_what_an_estimator_makes_of_it(method):
    world = build(reinforce_pp, method)
    world.update(world.groups())
    groups = world.groups(seed=1)
    given = [score.value for group in groups for episode in group for score in episode.scores.values()]
    assert values(world.update(groups))["return"] == pytest.approx(np.mean(given))


# --- the gap is one of unchanged weights -----------------------------------------------------------------------------


def test_episodes_of_another_run_are_not_taken_for_fresh_ones(tmp_path):
    other = build(grpo)
    for step in range(1, 3):
        groups = other.groups(seed=step)
        write_episodes(tmp_path / "episodes" / f"step-{step:06d}.parquet", step, groups)
        other.update(groups)
    steps = build(grpo, seed=1).train(Saved(tmp_path), 2)
    assert all("gap/mean" not in step for step in steps)


def test_what_somebody_else_wrote_is_not_compared_with_a_sampler():
    world = build(grpo)
    groups = world.groups()
    written = [[replace(strip(one), scores=one.scores) for one in group] for group in groups]
    assert values(world.update([*groups, *written]))["gap/mean"] < 1e-5


def test_episodes_sampled_with_a_hint_that_training_does_not_see_are_not_compared():
    world = build(grpo)
    groups = world.groups()
    for episode in groups[0]:
        episode.spans[0] = Span(np.array([1, 9, 9, 9]))
    with pytest.raises(RuntimeError, match="differ from the sampler's"):
        world.update(groups)
    for episode in groups[0]:
        episode.sampled_from = np.array(episode.task.prompt)
    assert values(world.update(groups))["gap/mean"] < 1e-5


# --- what goes on from batch to batch --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Counting:
    """Weighs batch number i by i."""

    needs = ()

    def start(self):
        return {"seen": torch.zeros(())}

    def __call__(self, batch, memory):
        seen = memory["seen"] + 1
        return batch.put(correction=torch.full((len(batch),), float(seen))), {"seen": seen}


def test_what_a_method_remembers_is_reported_saved_and_goes_on(tmp_path):
    method = replace(grpo.grpo(), terms=(Term(Corrected(PolicyGradient())),), adaptive=Counting())
    one, other = build(grpo, method), build(grpo, method)
    batches = [one.groups(seed=seed) for seed in range(3)]
    found = [values(one.update(batch))["seen/0"] for batch in batches[:2]]
    assert found == [1.0, 2.0]
    one.learner.save(tmp_path)
    other.learner.restore(tmp_path)
    assert values(other.update(batches[2]))["seen/0"] == 3.0
    assert float(other.learner.last["policy"].stream("correction")[0]) == 3.0


def same_weights(one, other):
    mine, theirs = one.module.state_dict(), other.module.state_dict()
    return all(torch.equal(mine[key], theirs[key]) for key in mine)


def test_a_role_that_follows_the_policy_takes_over_its_weights_when_due_and_after_a_resume(tmp_path):
    method = replace(grpo.grpo(), roles={"snapshot": Role(refresh=2)})
    one, other = build(grpo, method), build(grpo, method)
    batches = [one.groups(seed=seed) for seed in range(3)]
    engines = one.learner.engines
    one.update(batches[0])
    assert not same_weights(engines["snapshot"], engines["policy"])
    one.update(batches[1])
    assert same_weights(engines["snapshot"], engines["policy"])
    one.update(batches[2])
    assert not same_weights(engines["snapshot"], engines["policy"])
    one.learner.save(tmp_path)
    other.learner.restore(tmp_path)
    assert same_weights(engines["snapshot"], other.learner.engines["snapshot"])
    assert not any(p.requires_grad and p.grad is not None for p in engines["snapshot"].module.parameters())


@pytest.mark.parametrize(
    "wrong", [{"refresh": -1}, {"refresh": 2, "head": "value"}, {"refresh": 2, "shares": "policy"}]
)
def test_only_a_frozen_copy_of_the_policy_can_follow_it(wrong):
    with pytest.raises(ValueError, match="frozen copy"):
        Role(**wrong)


def test_a_model_that_is_the_policy_itself_does_not_follow_it():
    world = build(grpo)
    with pytest.raises(ValueError, match="cannot follow itself"):
        world.learner.engines["policy"].follow(world.learner.engines["policy"])
