"""The loss of labelled and synthetic pairs by hand, which reply is which, and a snapshot as the preference model."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from guerdon.collate import collate
from guerdon.losses.auxiliary import logistic, ramp
from guerdon.losses.preference import dpo
from guerdon.methods import vrpo as file
from guerdon.methods.vrpo import VarianceReduced, vrpo, with_synthetic
from guerdon.types import Episode, Pair, Span, Task
from tests.batches import make_batch, total
from tests.invariants.world import build, distance, gradients, plain_pair, strip


def group(margins=(0.5, -0.2), g=(0.8, 0.6), flip=False):
    """A labelled pair and synthetic ones, of one token each; log-ratios margin and 0. flip: each pair turned round."""
    rows = [(m, 0.0) for m in margins]
    wins = [(p, 1 - p) for p in g]
    returns = [(1.0, -1.0), *[(0.0, 0.0)] * (len(margins) - 1)]
    if flip:
        rows, wins, returns = ([row[::-1] for row in many] for many in (rows, wins, returns))
    flat = [x for row in rows for x in row]
    batch = make_batch(
        [r for row in returns for r in row],
        masks=[[1]] * len(flat),
        ref=[[0.0]] * len(flat),
        pair=[[float(i)] for i in range(len(margins)) for _ in range(2)],
        wins=[[w] for row in wins for w in row],
    )
    return {"logp": torch.tensor(flat, requires_grad=True)}, batch


def loss(out, batch, pair_loss=logistic, **settings):
    return total(vrpo(beta=1.0, loss=pair_loss, **settings).terms[0], out, batch)


@pytest.mark.parametrize(("pair_loss", "value"), [(logistic, 0.6181389), (ramp, 0.84)])
def test_the_loss_by_hand(pair_loss, value):
    assert loss(*group(), pair_loss).item() == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("pair_loss", [logistic, ramp])
def test_the_order_in_which_replies_stand_does_not_matter(pair_loss):
    assert loss(*group(flip=True), pair_loss).item() == pytest.approx(loss(*group(), pair_loss).item(), abs=1e-6)


@pytest.mark.parametrize("g", [0.0, 0.5, 0.9])
def test_a_synthetic_pair_that_is_the_labelled_one_leaves_the_plain_loss(g):
    found = loss(*group(margins=(0.7, 0.7), g=(g, g)))
    assert found.item() == pytest.approx(float(logistic(torch.tensor(0.7))), abs=1e-6)


def test_without_a_synthetic_pair_nothing_is_taken_away():
    out, batch = group(margins=(0.7,), g=(0.9,))
    assert loss(out, batch).item() == pytest.approx(float(logistic(torch.tensor(0.7))), abs=1e-6)
    bare = {name: value for name, value in batch.extra.items() if name == "ref"}
    assert loss(out, replace(batch, extra=bare)).item() == pytest.approx(float(dpo(torch.tensor(0.7), 1.0)), abs=1e-6)


def test_several_synthetic_pairs_count_by_their_mean():
    one = [loss(*group((0.5, m), (0.8, g))).item() for m, g in ((-0.2, 0.6), (1.0, 0.3))]
    both = loss(*group((0.5, -0.2, 1.0), (0.8, 0.6, 0.3))).item()
    assert both == pytest.approx(sum(one) / 2, abs=1e-6)


def test_equal_synthetic_replies_pull_nowhere():
    out, batch = group(margins=(0.5, 0.0), g=(0.8, 0.5))
    loss(out, batch).backward()
    assert out["logp"].grad[2:].tolist() == [0.0, 0.0]


def test_a_tied_label_teaches_nothing():
    out, batch = group()
    tied = batch.put(reward=torch.zeros(4))
    loss(out, tied).backward()
    assert out["logp"].grad.abs().sum() == 0


def test_probabilities_that_do_not_add_up_are_refused():
    out, batch = group()
    with pytest.raises(ValueError, match="add up to"):
        loss(out, batch.put(wins=torch.tensor([0.8, 0.2, 0.9, 0.9])))
    with pytest.raises(ValueError, match="add up to 0;"):
        loss(out, batch.put(wins=torch.zeros(4)))


# --- the policy's own snapshot as the preference model ---------------------------------------------------------------


def test_with_its_own_current_opinion_and_the_logistic_loss_it_is_plain_dpo():
    out, batch = group()
    batch = batch.put(snapshot=out["logp"].detach())
    loss(out, batch, refresh=1).backward()
    own = out["logp"].grad.clone()
    assert own[:2].tolist() == pytest.approx([-1 / (1 + np.exp(0.5)), 1 / (1 + np.exp(0.5))], abs=1e-6)
    assert own[2:].abs().max() < 1e-7


def test_a_snapshot_judges_is_refreshed_and_resumed_bit_for_bit(tmp_path):
    method = vrpo(refresh=2)
    assert method.roles["snapshot"].refresh == 2
    assert method.terms[0].objective.needs == ("ref", "snapshot")
    one, other = build(file, method), build(file, method)
    batches = [one.groups(seed=seed) for seed in range(4)]
    for batch in batches[:3]:
        one.update(batch)
    snapshot = one.learner.engines["snapshot"].module.state_dict()
    assert any(not torch.equal(v, one.learner.engines["ref"].module.state_dict()[k]) for k, v in snapshot.items())
    one.learner.save(tmp_path)
    other.learner.restore(tmp_path)
    for world in (one, other):
        world.update(batches[3])
    for role in ("policy", "snapshot"):
        mine, theirs = (w.learner.engines[role].module.state_dict() for w in (one, other))
        assert all(torch.equal(mine[key], theirs[key]) for key in mine)


@pytest.mark.parametrize("tokens", [8, 10_000])
def test_the_gradient_does_not_depend_on_cuts_with_several_synthetic_pairs(tokens):
    world = build(file)
    world.family = "policy"  # whole groups of four replies
    rolled = zip((0, 1, 2, 1), world.groups(), strict=True)
    groups = [with_synthetic(plain_pair(0, g), 0.7, [(strip(g[2]), strip(g[3]), 0.6)] * k) for k, g in rolled]
    engine = world.learner.engines["policy"]
    ready = world.learner.prepare("policy", collate(groups))
    found = []
    for size in (tokens, 64):
        engine.tokens_per_micro_batch = size
        engine.forward_backward(ready, world.method.terms)
        found.append(gradients(engine))
    assert distance(*found) < 1e-5


# --- making such groups ----------------------------------------------------------------------------------------------


def reply(token, score=None):
    spans = [Span(np.array([1])), Span(np.array([token]), np.zeros(1), parent=0)]
    return Episode(Task("t", "q"), spans, {} if score is None else {"old": score})


def test_what_synthetic_replies_were_scored_is_left_out():
    pair = Pair(reply(3), reply(4)).group()
    first, second = Pair(reply(5), reply(6)).group()
    batch = collate([with_synthetic(pair, 0.8, [(first, second, 0.6)])])
    returns = torch.zeros(4).index_add(0, batch.seq, batch.reward)
    assert returns.tolist() == [0.5, -0.5, 0.0, 0.0]
    assert batch.stream("wins")[batch.mask].tolist() == pytest.approx([0.8, 0.2, 0.6, 0.4])
    assert batch.stream("pair")[batch.mask].tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("g", [-0.1, 1.1])
def test_what_is_no_probability_is_refused(g):
    with pytest.raises(ValueError, match="expected 0 to 1"):
        with_synthetic(Pair(reply(3), reply(4)).group(), g)


def test_the_objective_keeps_groups_whole():
    assert VarianceReduced().unit == "group"
