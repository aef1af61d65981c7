"""What every method must satisfy, found by a scan of `guerdon.methods`: the house's seven invariants."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace

import pytest
import torch

from guerdon.collate import collate, shard
from guerdon.engines.local import weigh
from guerdon.evaluation.pairs import by_head, rank_pairs
from guerdon.losses.policy import PolicyGradient
from guerdon.method import Term
from guerdon.metrics import values
from guerdon.rewards.base import PerEpisode
from guerdon.sources import Starved
from guerdon.types import Score
from tests.invariants.world import World, build, distance, gradients, make, methods

METHODS = methods()
POLICY = [name for name, module in METHODS.items() if module.CARD.family == "policy"]
every_method = pytest.mark.parametrize("name", METHODS)
every_policy_method = pytest.mark.parametrize("name", POLICY)


def prepared(world: World, groups=None, **how):
    groups = groups or world.groups(**how)
    return world.learner.prepare("policy", collate(groups))


def gradient(world: World, batch, terms=None, role="policy", tokens=None):
    engine = world.learner.engines[role]
    engine.tokens_per_micro_batch = tokens or engine.tokens_per_micro_batch
    terms = terms or (world.method.terms if role == "policy" else world.method.roles[role].terms)
    engine.forward_backward(batch, terms)
    return gradients(engine)


def learning_roles(world: World):
    return ["policy", *(name for name, role in world.method.roles.items() if role.head == "value")]


def stale(world: World):
    """A batch from before an update, so that ratios are not 1 and clipping does something."""
    groups = world.groups()
    world.update(groups)
    return prepared(world, groups)


@every_method
def test_gradient_is_the_same_however_the_batch_is_cut_and_ordered(name):
    world = build(METHODS[name])
    batch = stale(world)
    order = torch.unique(batch.group).tolist()
    random.Random(3).shuffle(order)
    shuffled = batch.select(torch.cat([(batch.group == g).nonzero().squeeze(1) for g in order]))
    for role in learning_roles(world):
        whole = gradient(world, batch, role=role, tokens=10_000)
        assert whole, "a gradient that is nothing proves nothing"
        for tokens in (8, 33):
            assert distance(whole, gradient(world, batch, role=role, tokens=tokens)) < 1e-5
        assert distance(whole, gradient(world, shuffled, role=role, tokens=33)) < 1e-5


@every_method
def test_gradient_of_shards_adds_up_to_that_of_the_batch(name):
    world = build(METHODS[name])
    batch = stale(world)
    for role in learning_roles(world):
        terms = world.method.terms if role == "policy" else world.method.roles[role].terms
        whole = gradient(world, batch, role=role)
        weighed = weigh(batch, terms)
        parts = [gradient(world, weighed.select(rows), terms, role) for rows in shard(batch, 2)]
        zero = {n: torch.zeros_like(g) for n, g in whole.items()}
        total = {n: sum(part.get(n, zero[n]) for part in parts) for n in whole}
        assert distance(whole, total) < 1e-5


@every_method
def test_padding_and_the_fast_path_change_nothing(name, monkeypatch):
    from guerdon.likelihoods import states

    world = build(METHODS[name])
    batch = stale(world)
    flat = gradient(world, batch)
    monkeypatch.setattr(states.stack, "find", lambda trunk: None)
    assert distance(flat, gradient(world, batch)) < 1e-5
    layout = states.layout
    monkeypatch.setattr(states, "layout", lambda batch: layout(batch, pad=9, row_tokens=12))
    assert distance(flat, gradient(world, batch)) < 1e-5


@every_method
def test_returns_and_shares_add_up(name):
    world = build(METHODS[name])
    groups = world.groups()
    batch = collate(groups)
    paths = [episode for group in groups for episode in group]
    returns = torch.zeros(len(paths)).index_add(0, batch.seq, batch.reward)
    expected = [float(sum(score.total() for score in episode.scores.values())) for episode in paths]
    torch.testing.assert_close(returns, torch.tensor(expected), atol=1e-6, rtol=0)
    ready = world.learner.prepare("policy", batch)
    for term in world.method.terms:
        mask = ready.stream(term.mask)
        weights = term.reduce(ready, mask)
        assert not (mask & ~ready.mask).any()
        assert (weights[~mask] == 0).all()
        assert (weights[mask] > 0).all()
    assert float(batch.share[batch.mask].sum()) == sum(episode.sampled_tokens for episode in paths)


@every_policy_method
def test_on_fresh_data_the_gradient_is_reinforces(name):
    world = build(METHODS[name])
    batch = prepared(world)
    main = [term for term in world.method.terms if term.objective.inert_without_advantage]
    plain = [Term(PolicyGradient(), term.reduce, term.scale) for term in main]
    found, expected = gradient(world, batch, main), gradient(world, batch, plain)
    assert expected
    assert distance(found, expected) < 1e-4


@every_policy_method
def test_zero_advantages_give_no_gradient_and_are_skipped(name):
    world = build(METHODS[name])
    batch = prepared(world)
    main = [term for term in world.method.terms if term.objective.inert_without_advantage]
    still = batch.put(advantage=torch.zeros(len(batch)))
    engine = world.learner.engines["policy"]
    stats = engine.forward_backward(still, main)
    assert all(float(g.abs().max()) == 0 for g in gradients(engine).values())
    assert values(stats)["skipped"] == 1.0


@every_policy_method
def test_skipping_silent_sequences_leaves_the_gradient_as_it_is(name):
    world = build(METHODS[name])
    batch = prepared(world)
    half = torch.where(batch.group % 2 == 0, batch.advantage, torch.zeros(()))
    batch = batch.put(advantage=half)
    skipping = gradient(world, batch)
    loud = [replace(t, objective=_Loud(t.objective)) for t in world.method.terms]
    assert distance(skipping, gradient(world, batch, loud)) < 1e-5


class _Loud:
    """An objective that does not say where it is inert, so that nothing is skipped."""

    inert_without_advantage = False

    def __init__(self, objective):
        self.objective = objective
        self.needs, self.wants, self.unit = objective.needs, objective.wants, objective.unit

    def __call__(self, out, batch):
        return self.objective(out, batch)


@pytest.mark.parametrize("name", [name for name in POLICY if make(METHODS[name]).estimator.min_group > 1])
def test_a_constant_added_to_a_groups_rewards_changes_nothing_where_groups_are_compared(name):
    world = build(METHODS[name])
    groups = world.groups()
    before = prepared(world, groups).advantage
    for number, group in enumerate(groups):
        for episode in group:
            episode.scores["r"].value += 10.0 * number
    torch.testing.assert_close(prepared(world, groups).advantage, before, atol=1e-4, rtol=1e-4)


@every_policy_method
def test_sampler_and_engine_agree_on_unchanged_weights(name):
    assert largest_gap(build(METHODS[name])) < 1e-4


@pytest.mark.parametrize(
    "how", [{"temperature": 0.6}, {"temperature": 1.3, "top_p": 0.7}, {"top_k": 3}, {"min_p": 0.2}], ids=str
)
def test_sampler_and_engine_agree_at_any_setting(how):
    assert largest_gap(build(METHODS["grpo"]), **how) < 1e-4


def largest_gap(world: World, **how) -> float:
    batch = collate(world.groups(**how))
    logp = world.learner.engines["policy"].forward(batch, ("logp",))["logp"]
    return float((logp - batch.behavior).abs().max())


@every_method
def test_three_steps_move_the_weights_and_keep_them_finite(name):
    world = build(METHODS[name])
    before = {n: p.clone() for n, p in world.learner.engines["policy"].module.named_parameters()}
    for step in range(3):
        stats = values(world.update(world.groups(seed=step)))
        assert all(v == v for v in stats.values())
    after = dict(world.learner.engines["policy"].module.named_parameters())
    assert all(torch.isfinite(p).all() for p in after.values())
    assert any(not torch.equal(before[n], p) for n, p in after.items())


@every_method
def test_a_method_is_a_value_with_its_knobs_written_down(name):
    method = make(METHODS[name])
    assert isinstance(dict(method.settings), dict)
    assert METHODS[name].CARD.slug.replace("-", "_") == name
    assert METHODS[name].CARD.paper


@every_method
def test_a_resumed_learner_goes_on_bit_for_bit(name, tmp_path):
    one, other = build(METHODS[name]), build(METHODS[name])
    batches = [one.groups(seed=seed) for seed in range(3)]
    one.update(batches[0])
    one.learner.save(tmp_path)
    other.learner.restore(tmp_path)
    for world in (one, other):
        world.update(batches[1])
        world.update(batches[2])
    for role, engine in one.learner.engines.items():
        mine, theirs = engine.module.state_dict(), other.learner.engines[role].module.state_dict()
        assert all(torch.equal(mine[key], theirs[key]) for key in mine)
    assert one.learner.version == other.learner.version == 3


@every_policy_method
def test_filters_that_drop_everything_are_named_and_bad_rewards_survived(name):
    world = build(METHODS[name])

    def never(group):
        return None

    starving = world.source([good], filters=[never])
    with pytest.raises(Starved, match="never"):
        world.train(starving, 1)
    stats = world.train(world.source([good, Crashing(), NotNumbers(), TooFew()]), 2)
    assert all(step["faults"] > 0 and step["return"] == step["return"] for step in stats)


@dataclass(frozen=True)
class Crashing:
    """Raises on every third task."""

    name = "crashing"
    weight = 1.0

    async def __call__(self, group, context):
        if int(group[0].task.id) % 3 == 0:
            raise RuntimeError("out of order")
        return [Score() for _ in group]


@dataclass(frozen=True)
class NotNumbers(Crashing):
    name = "not numbers"

    async def __call__(self, group, context):
        return [Score(math.nan if int(e.task.id) % 4 == 1 else None) for e in group]


@dataclass(frozen=True)
class TooFew(Crashing):
    name = "too few"

    async def __call__(self, group, context):
        return [Score() for _ in group[int(group[0].task.id) % 5 == 2 :]]


@every_method
def test_it_learns_a_toy_task(name):
    """Every policy method earns more than at its step 0; the others make their data likelier, or score it better."""
    world = build(METHODS[name])
    if world.family == "policy":
        returns = [step["reward/good"] for step in world.train(world.source([good]), 16)]
        assert sum(returns[-4:]) / 4 > returns[0] + 0.15
        return
    groups = world.groups()
    before = _likelihood(world, groups)
    for _ in range(6):
        world.update(groups)
    assert _likelihood(world, groups) > before + 0.1


def _likelihood(world: World, groups) -> float:
    """Mean log-probability of the better path of each group; of a reward model, by how much the better of a pair scores
    higher, or how small the loss is."""
    batch = collate(groups)
    if world.method.scores is not None and any(len(group) != 2 for group in groups):
        stats = world.learner.engines["policy"].forward_backward(prepared(world, groups), world.method.terms)
        gradients(world.learner.engines["policy"])
        return -sum(value for name, value in values(stats).items() if name.startswith("loss/"))
    if world.method.scores is not None:
        return rank_pairs(groups, by_head(world.learner.engines["policy"], world.method.scores.names[0])).margin.mean
    logp = world.learner.engines["policy"].forward(batch, ("logp",))["logp"]
    by_path = torch.zeros(int(batch.seq.max()) + 1)
    means = by_path.index_add(0, batch.seq, logp) / by_path.index_add(0, batch.seq, batch.mask.float())
    returns = by_path.index_add(0, batch.seq, batch.reward)
    best = {
        int(g): max((returns[s], float(means[s])) for s in batch.seq[batch.group == g].unique())
        for g in batch.group.unique()
    }
    worst = {
        int(g): min((returns[s], float(means[s])) for s in batch.seq[batch.group == g].unique())
        for g in batch.group.unique()
    }
    margin = world.family == "preference"
    return sum(best[g][1] - margin * worst[g][1] for g in best) / len(best)


good = PerEpisode("good", lambda episode: episode.reply.count("h") / 6)
