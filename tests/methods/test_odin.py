"""ODIN: the card's numbers, the whole batch's gradient from streams, and the head that is saved."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from guerdon.collate import collate
from guerdon.likelihoods.scores import Scores, overlap
from guerdon.losses.reward_model import BradleyTerry
from guerdon.method import Heads, Term
from guerdon.methods import odin as odin_file
from guerdon.methods.odin import LENGTH, PULL, QUALITY, LengthCorrelation, LengthPull, SumRanked, length_loss, odin
from guerdon.metrics import values
from guerdon.models.load import load_policy
from guerdon.models.reward import head_of, load_reward_model, save, weight_of, with_heads
from guerdon.reduce import group_mean, sequence_mean
from tests.batches import make_batch, total
from tests.invariants.world import build, distance, gradients
from tests.models.small import saved

QUALITIES, LENGTHS = torch.tensor([1.0, -1.0, 1.0, -1.0]), torch.tensor([1.0, 2.0, 3.0, 4.0])
TOKENS = torch.tensor([10.0, 20.0, 30.0, 40.0])


def test_the_length_loss_of_the_cards_numbers():
    assert float(length_loss(QUALITIES, LENGTHS, TOKENS)) == pytest.approx(0.4472136 - 1, abs=1e-6)
    third = abs(float(torch.corrcoef(torch.stack([QUALITIES + LENGTHS, TOKENS]))[0, 1]))
    both = float(length_loss(QUALITIES, LENGTHS, TOKENS, of_sum=True))
    assert both == pytest.approx(0.4472136 - 1 + third, abs=1e-6)
    assert third == pytest.approx(0.6, abs=1e-6)


def test_scale_and_shift_cannot_lower_the_length_loss():
    moved = length_loss(5 * QUALITIES - 3, 0.1 * LENGTHS + 7, TOKENS)
    torch.testing.assert_close(moved, length_loss(QUALITIES, LENGTHS, TOKENS))


def test_overlap_of_heads_before_and_after_centring():
    module = SimpleNamespace(score=torch.nn.Linear(3, 2, bias=False))
    module.score.weight.data = torch.tensor([[1.0, 2.0, 3.0], [1.0, 1.0, 0.0]])
    heads = (Heads((QUALITY, LENGTH)), Heads((QUALITY, LENGTH), unit_norm=True))
    found = [float(overlap(weight_of(module, one)).detach()) for one in heads]
    assert found == pytest.approx([0.5669467, 0.8660254], abs=1e-6)


def scored(quality, length, groups, tokens=None):
    """A batch of pairs, the first of each the better, whose scores stand on the last token of each reply."""
    returns = [1.0, 0.0] * (len(quality) // 2)
    masks = [[1] * n for n in tokens or [2] * len(quality)]
    streams = {name: [[0.0] * (len(m) - 1) + [v] for m, v in zip(masks, column, strict=True)] for name, column in
               ((QUALITY, quality), (LENGTH, length))}  # fmt: skip
    return make_batch(returns, masks=masks, groups=groups, **streams)


def test_the_ranking_loss_is_of_the_sum():
    batch = scored([0.6, 0.1], [0.2, 0.5], [0, 0])
    out = {name: batch.stream(name) for name in (QUALITY, LENGTH)}
    assert float(total(Term(SumRanked(), group_mean), out, batch)) == pytest.approx(0.5981389, abs=1e-6)


def test_with_a_silent_length_head_it_is_bradley_terry():
    assert len(odin(length_weight=0.0, orthogonal_weight=0.0).terms) == 1
    batch = scored([0.6, 0.1, -2.0, 0.4], [0.0] * 4, [0, 0, 1, 1])
    out = {name: batch.stream(name) for name in (QUALITY, LENGTH)}
    found = total(Term(SumRanked(), group_mean), out, batch)
    assert torch.equal(found, total(Term(BradleyTerry(head=QUALITY), group_mean), out, batch))


@pytest.mark.parametrize("of_sum", [False, True])
def test_streams_give_the_loss_and_the_gradient_of_the_whole_batch(of_sum):
    quality, length, tokens = [0.3, -1.0, 0.9, 0.2], [0.5, 0.1, -0.4, 1.2], [3, 5, 2, 9]
    batch = LengthPull(of_sum)(scored(quality, length, [0, 0, 1, 1], tokens))
    given = [torch.tensor(one, requires_grad=True) for one in (quality, length)]
    direct = length_loss(*given, torch.tensor(tokens).float(), of_sum)
    expected = torch.autograd.grad(direct, given)
    out = {name: batch.stream(name).clone().requires_grad_() for name in (QUALITY, LENGTH)}
    found = total(Term(LengthCorrelation(), sequence_mean), out, batch)
    assert found.item() == pytest.approx(direct.item(), abs=1e-6)
    last = torch.tensor(tokens).cumsum(0) - 1
    for name, one in zip(out, torch.autograd.grad(found, list(out.values())), strict=True):
        torch.testing.assert_close(one[last], expected[(QUALITY, LENGTH).index(name)], atol=1e-6, rtol=1e-5)
        assert float(one.sum()) == pytest.approx(0, abs=1e-6)
        assert torch.count_nonzero(one) == 4


def test_replies_of_one_length_pull_at_nothing():
    batch = LengthPull()(scored([0.3, -1.0, 0.9, 0.2], [0.5, 0.1, -0.4, 1.2], [0, 0, 1, 1]))
    assert torch.equal(batch.stream(PULL), torch.zeros(8, 2))


def test_the_learner_takes_the_gradient_of_the_written_loss():
    world = build(odin_file)
    batch = world.learner.prepare("policy", collate(world.groups()))
    engine = world.learner.engines["policy"]
    engine.forward_backward(batch, world.method.terms)
    found = gradients(engine)
    heads = Heads((QUALITY, LENGTH), unit_norm=True)
    out = Scores(heads)(engine.module, batch, (QUALITY, LENGTH))
    last = torch.cat([(batch.mask & (batch.seq == s)).nonzero()[-1] for s in batch.seq.unique()])
    quality, length = out[QUALITY][last], out[LENGTH][last]
    tokens = torch.stack([batch.mask[batch.seq == s].sum() for s in batch.seq.unique()]).float()
    better = batch.seq.new_zeros(len(last), dtype=torch.float32).index_add(0, batch.seq, batch.reward) > 0
    both = (quality + length).view(-1, 2)
    d = torch.where(better.view(-1, 2)[:, 0], both[:, 0] - both[:, 1], both[:, 1] - both[:, 0])
    loss = torch.nn.functional.softplus(-d).mean() + length_loss(quality, length, tokens)
    (loss + overlap(weight_of(engine.module, heads))).backward()
    assert distance(found, gradients(engine)) < 1e-5


def test_an_update_reports_the_correlation_that_it_lowers():
    world = build(odin_file)
    groups = world.groups(8)
    seen = [values(world.update(groups)) for _ in range(30)]
    assert abs(seen[-1]["length/correlation"]) < abs(seen[0]["length/correlation"])
    assert seen[-1]["loss/orthogonal"] < seen[0]["loss/orthogonal"]
    assert seen[-1]["loss/reward_model"] < seen[0]["loss/reward_model"]


def test_what_is_saved_is_the_head_that_was_trained(tmp_path: Path):
    heads = Heads((QUALITY, LENGTH), unit_norm=True)
    model = with_heads(load_policy(str(saved(tmp_path / "start"))), heads)
    save(model, heads, tmp_path / "saved")
    again = head_of(load_reward_model(str(tmp_path / "saved")).module).weight
    torch.testing.assert_close(again, weight_of(model.module, heads))
    torch.testing.assert_close(again.norm(dim=1), torch.ones(2))
    torch.testing.assert_close(again.mean(1), torch.zeros(2), atol=1e-6, rtol=0)
