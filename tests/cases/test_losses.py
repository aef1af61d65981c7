"""Cases of losses and advantages (E) with their numbers: how a batch is cut, what is masked, what does not vary, what a
critic reads, which divergence is descended, and what packing must not change."""

import copy
import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from guerdon.advantages.chain import Chain
from guerdon.advantages.gae import GAE
from guerdon.advantages.group import GroupMean, GroupNorm, LeaveOneOut, has_signal
from guerdon.advantages.segments import paths
from guerdon.advantages.whiten import Whiten
from guerdon.collate import collate, minibatches
from guerdon.engines.local import LocalEngine, Optim
from guerdon.filters import Informative
from guerdon.likelihoods.autoregressive import Autoregressive
from guerdon.likelihoods.packing import layout
from guerdon.losses.divergence import KLToReference, k1, k2, k3
from guerdon.losses.policy import ImportanceWeighted, PolicyGradient
from guerdon.losses.value import PlainValueLoss
from guerdon.method import Term
from guerdon.methods import grpo
from guerdon.methods.dr_grpo import dr_grpo
from guerdon.methods.ppo import ppo
from guerdon.methods.rloo import rloo
from guerdon.metrics import values
from guerdon.models.attention import check_attention
from guerdon.reduce import constant, group_mean, sequence_mean, token_mean
from guerdon.run import Options, Run
from guerdon.tasks.builtin import arithmetic
from guerdon.types import Episode, Score, Span, Task
from tests.batches import make_batch, total
from tests.invariants.world import build
from tests.samplers.conftest import tiny_model


class Table(nn.Module):
    """A number for each token of a batch as its log-probability and its value; it counts how often it is asked."""

    def __init__(self, size, start=-1.0):
        super().__init__()
        self.numbers = nn.Parameter(torch.full((size,), start))
        self.asked = 0

    def __call__(self, module, batch, wants):
        self.asked += 1
        return {name: torch.where(batch.mask, self.numbers[batch.inputs["tokens"]], 0.0) for name in wants}


def engine(size, tokens=4096, start=-1.0, **optim):
    table = Table(size, start)
    return LocalEngine(table, table, Optim(**{"lr": 0.1, "max_grad_norm": 0.0, **optim}), tokens), table


def numbered(rows):
    """Token ids 0, 1, ... over rows of these lengths."""
    ids = itertools.count()
    return [[next(ids) for _ in range(len(row))] for row in rows]


# --- C41: token mean across accumulation ------------------------------------------------------------------------------


@pytest.mark.parametrize("tokens", [1, 3, 100])
@pytest.mark.parametrize("groups", [[0, 1], [0, 0]], ids=["two groups", "one group"])
def test_c41_loss_gradient_and_logged_number_of_two_micro_batches_and_of_one(tokens, groups):
    parts = 1 if groups == [0, 0] and tokens == 100 else 2  # rows of 3 and of 1 token are not padded to each other
    losses = [[1.0, 1.0, 1.0], [5.0]]
    batch = make_batch(advantages=losses, tokens=numbered(losses), groups=groups)
    worker, table = engine(4, tokens)
    found = values(worker.forward_backward(batch, (Term(PolicyGradient()),)))
    assert table.asked == parts
    assert found["loss/policy"] == pytest.approx(2.0)
    assert table.numbers.grad.tolist() == pytest.approx([-0.25, -0.25, -0.25, -1.25])


@pytest.mark.parametrize("tokens", [1, 2, 100])
def test_c41_as_four_micro_batches(tokens):
    losses = [[1.0], [1.0], [1.0], [5.0]]
    batch = make_batch(advantages=losses, tokens=numbered(losses))
    worker, table = engine(4, tokens)
    assert values(worker.forward_backward(batch, (Term(PolicyGradient()),)))["loss/policy"] == pytest.approx(2.0)
    assert table.numbers.grad.tolist() == pytest.approx([-0.25, -0.25, -0.25, -1.25])


@pytest.mark.parametrize("tokens", [1, 3, 100])
def test_c41_the_critics_squared_errors(tokens):
    """4 and 1, 1, 1: their mean is 1.75; the loss has the usual half of it."""
    targets = [[2.0], [1.0, 1.0, 1.0]]
    batch = make_batch(masks=[[1], [1] * 3], tokens=numbered(targets), **{"return": targets})
    worker, table = engine(4, tokens, start=0.0)
    found = values(worker.forward_backward(batch, (Term(PlainValueLoss(), name="value"),)))
    assert 2 * found["loss/value"] == pytest.approx(1.75)
    assert table.numbers.grad.tolist() == pytest.approx([-0.5, -0.25, -0.25, -0.25])


@pytest.mark.parametrize(("micro_steps", "steps"), [(4, 2), (32, 4), (8, 1), (6, 3)])
def test_c41_an_optimiser_step_divides_by_its_own_tokens(micro_steps, steps):
    """Micro-steps of 10 tokens with a loss of 1 each, dealt out to several optimiser steps."""
    losses = [[1.0] * 10] * micro_steps
    batch = make_batch(advantages=losses, tokens=numbered(losses), groups=list(range(micro_steps)))
    worker, table = engine(10 * micro_steps, tokens=10)
    for rows in minibatches(batch, steps, seed=0):
        table.asked, table.numbers.grad = 0, None
        found = values(worker.forward_backward(batch.select(rows), (Term(PolicyGradient()),)))
        assert table.asked == micro_steps // steps
        assert found["loss/policy"] == pytest.approx(1.0)
        assert float(-table.numbers.grad.sum()) == pytest.approx(1.0)


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(st.lists(st.integers(-9, 9), min_size=1, max_size=5), min_size=1, max_size=5),
    tokens=st.integers(1, 12),
    reduce=st.sampled_from([token_mean, sequence_mean, group_mean, constant(7)]),
)
def test_c41_no_reduction_depends_on_the_cut(rows, tokens, reduce):
    losses = [[float(x) for x in row] for row in rows]
    batch = make_batch(advantages=losses, tokens=numbered(losses), groups=[i // 2 for i in range(len(rows))])
    found = []
    for size in (tokens, 4096):
        worker, table = engine(sum(map(len, rows)), size)
        stats = values(worker.forward_backward(batch, (Term(PolicyGradient(), reduce),)))
        grad = table.numbers.grad
        found.append((stats.get("loss/policy", 0.0), [] if grad is None else grad.tolist()))
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-5)
    assert found[0][1] == pytest.approx(found[1][1], abs=1e-6)


# --- C43: masked truncated completions leave the denominator too ------------------------------------------------------


@pytest.mark.parametrize("tokens", [1, 8, 100])
def test_c43_the_masked_completion_is_in_neither_half_of_the_mean(tokens):
    losses = [[0.5] * 4, [9.0] * 12]
    batch = make_batch(advantages=losses, masks=[[1] * 4, [0] * 12], tokens=numbered(losses))
    worker, table = engine(16, tokens)
    assert values(worker.forward_backward(batch, (Term(PolicyGradient()),)))["loss/policy"] == pytest.approx(0.5)
    assert table.numbers.grad.tolist() == pytest.approx([-0.125] * 4 + [0.0] * 12)


@pytest.mark.parametrize(
    ("reduce", "value"), [(token_mean, 0.5), (sequence_mean, 0.5), (group_mean, 0.5), (constant(8), 0.25)]
)
def test_c43_nor_in_that_of_other_reductions(reduce, value):
    batch = make_batch(advantages=[[0.5] * 4, [9.0] * 12], masks=[[1] * 4, [0] * 12], groups=[0, 1])
    loss = total(Term(PolicyGradient(), reduce), {"logp": torch.full((16,), -1.0)}, batch)
    assert loss.item() == pytest.approx(value)


@pytest.mark.parametrize("terms", [(Term(PolicyGradient()),), (Term(PolicyGradient()), Term(KLToReference()))])
def test_c43_an_empty_step_is_skipped_whole_and_says_so(terms):
    """Neither moments that are under way nor weight decay move anything, and nothing is NaN."""
    losses = [[1.0, -1.0], [2.0]]
    streams = {"advantages": losses, "tokens": numbered(losses), "ref": [[-2.0] * 2, [-2.0]]}
    worker, table = engine(3, weight_decay=0.5)
    worker.forward_backward(make_batch(**streams), terms)
    worker.step()
    before = table.numbers.detach().clone()
    found = values(worker.forward_backward(make_batch(masks=[[0, 0], [0]], **streams), terms))
    assert found == {"skipped": 1.0}
    assert values(worker.step()) == {"grad_norm": 0.0}
    assert torch.equal(table.numbers, before)
    assert worker.steps == 2


# --- C45: no variance, and groups of one ------------------------------------------------------------------------------

EQUAL = [[0.7] * 8, [0.7] * 7 + [0.70000005], [0.1 + 0.2, 0.3] * 4, [-5e5] * 7 + [-5e5 + 0.03125]]


@pytest.mark.parametrize("returns", EQUAL, ids=lambda r: f"{r[0]}..{r[-1]}")
@pytest.mark.parametrize(
    "estimator",
    [LeaveOneOut(), GroupNorm(), GroupMean(), Chain((LeaveOneOut(), Whiten())), Chain((GroupMean(), Whiten()))],
    ids=repr,
)
def test_c45_rounding_gives_advantages_of_exactly_zero(estimator, returns):
    batch = make_batch(returns)
    assert not has_signal(paths(batch)).any()
    assert estimator(batch).advantage.tolist() == [0.0] * 16


@pytest.mark.parametrize("returns", EQUAL, ids=lambda r: f"{r[0]}..{r[-1]}")
def test_c45_such_groups_are_counted_and_filtered(returns):
    world = build(grpo)
    groups = world.groups(number=2, n=8)
    for place, group in enumerate(groups):
        for episode, value in zip(group, returns, strict=True):
            episode.scores = {"r": Score(value if place else value + 10.0 * (episode is group[0]))}
    assert [Informative()(group) is None for group in groups] == [False, True]
    assert values(world.update(groups))["groups/no_signal"] == 0.5


@pytest.mark.parametrize("method", [grpo.grpo(), dr_grpo(max_new_tokens=4), rloo()], ids=["grpo", "dr_grpo", "rloo"])
def test_c45_one_sample_per_prompt_is_refused_at_start(method):
    with pytest.raises(ValueError, match=r"samples_per_prompt is 1; .* needs at least 2"):
        Run(method, Options(samples_per_prompt=1), arithmetic(1))
    assert Run(ppo(), Options(samples_per_prompt=1), arithmetic(1)).options.samples_per_prompt == 1


# --- C47: critic values under the mask --------------------------------------------------------------------------------


@pytest.mark.parametrize("masked", [50.0, 0.0, -1e6, float("nan")])
@pytest.mark.parametrize(
    ("rewards", "value", "mask", "expected"),
    [
        ([0, 2, 0], [0, 0, None], [1, 1, 0], [1.9, 2.0, 0.0]),
        ([0, 0, 2], [0, 0, None], [1, 1, 0], [1.9, 2.0, 0.0]),  # the reward lands on the last trainable token
        ([0, 0, 2], [0, None, 0], [1, 0, 1], [1.9, 0.0, 2.0]),  # a tool's answer in the middle
        ([0, 0, 2, 0], [None, 0, 0, None], [0, 1, 1, 0], [0.0, 1.9, 2.0, 0.0]),
        ([0, 1, 0, 1], [1, None, None, 0.5], [1, 0, 0, 1], [0.5 + 0.95 * 0.5, 0.0, 0.0, 0.5]),
    ],
)
def test_c47_only_trainable_tokens_are_read(rewards, value, mask, expected, masked):
    batch = make_batch(rewards=[rewards], value=[[masked if v is None else v for v in value]], masks=[mask])
    assert GAE(gamma=1.0, lam=0.95)(batch).advantage.tolist() == pytest.approx(expected)


# --- C49: which KL the gradient descends ------------------------------------------------------------------------------


def expected(objective, policy, reference, behavior=None):
    """Value and logit gradient of a term, expected over all actions of a softmax policy by enumeration."""
    drawn = torch.tensor(behavior or policy, dtype=torch.float64)
    logits = torch.tensor(policy, dtype=torch.float64).log().requires_grad_()
    batch = make_batch(behavior=[[b] for b in drawn.log().tolist()], ref=[[r] for r in np.log(reference).tolist()])
    loss = (drawn * objective({"logp": logits.log_softmax(0)}, batch)).sum()
    loss.backward()
    return loss.item(), logits.grad.tolist()


def exact(policy, reference, reverse=True):
    """KL(policy || reference), or the other way round, and its logit gradient by automatic differentiation."""
    logits = torch.tensor(policy, dtype=torch.float64).log().requires_grad_()
    p, q = logits.log_softmax(0), torch.tensor(reference, dtype=torch.float64).log()
    kl = (p.exp() * (p - q)).sum() if reverse else (q.exp() * (q - p)).sum()
    kl.backward()
    return kl.item(), logits.grad.tolist()


def test_c49_the_numbers_of_two_actions():
    value, gradient = exact((0.8, 0.2), (0.5, 0.5))
    assert (value, gradient[0]) == pytest.approx((0.19274, 0.22181), abs=1e-5)
    for estimator, slope in ((k1, 0.0), (k2, 0.22181), (k3, 0.3)):
        found = expected(KLToReference(k3, estimator), (0.8, 0.2), (0.5, 0.5))
        assert found[0] == pytest.approx(0.19274, abs=1e-5)
        assert found[1] == pytest.approx([slope, -slope], abs=1e-5)
    assert expected(ImportanceWeighted(KLToReference()), (0.8, 0.2), (0.5, 0.5))[1][0] == pytest.approx(
        0.22181, abs=1e-5
    )


def simplex(weights):
    return tuple(w / sum(weights) for w in weights)


distribution = st.lists(st.integers(1, 20), min_size=4, max_size=4).map(simplex)


@settings(max_examples=30, deadline=None)
@given(policy=distribution, reference=distribution, behavior=distribution)
def test_c49_each_estimator_is_what_it_is_called_for_any_policy(policy, reference, behavior):
    reverse, forward = exact(policy, reference), exact(policy, reference, reverse=False)
    near = {"abs": 2e-5}
    assert expected(KLToReference(k1, k1), policy, reference)[1] == pytest.approx([0.0] * 4, **near)
    assert expected(KLToReference(k3, k2), policy, reference)[1] == pytest.approx(reverse[1], **near)
    assert expected(KLToReference(k3, k3), policy, reference)[1] == pytest.approx(forward[1], **near)
    stale = expected(ImportanceWeighted(KLToReference(k3, k3)), policy, reference, behavior)
    assert stale[0] == pytest.approx(reverse[0], **near)
    assert stale[1] == pytest.approx(reverse[1], **near)


# --- C51: packing must not change anything ----------------------------------------------------------------------------


def of(*rows, groups=True):
    """Sequences that begin with the same prompt token, so that they may share a row; groups: or each on its own."""
    made = []
    for row in rows:
        spans = [Span(np.array(row[:1])), Span(np.array(row[1:]), np.zeros(len(row) - 1), parent=0)]
        made.append(Episode(Task("t", ""), spans))
    return collate([made] if groups else [[episode] for episode in made])


THREE, FIVE = [9, 21, 33], [9, 40, 52, 64, 76]


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("family", ["llama", "gemma3", "qwen2_sliding", "gpt2"])
def test_c51_alone_packed_and_padded_agree(family, attention):
    module = copy.deepcopy(tiny_model(family, attention)).eval()

    @torch.no_grad()
    def logp(batch):
        return Autoregressive()(module, batch, ("logp",))["logp"]

    alone = torch.cat([logp(of(THREE)), logp(of(FIVE))])
    packed, padded = of(THREE, FIVE), of(THREE, FIVE, groups=False)
    assert [layout(batch).tokens.shape[0] for batch in (packed, padded)] == [1, 2]
    for batch in (packed, padded, of(FIVE, THREE)):
        found = logp(batch)
        if len(batch.inputs["tokens"][batch.seq == 0]) == 5:
            found = torch.cat([found[5:], found[:5]])
        torch.testing.assert_close(found, alone, atol=1e-5, rtol=1e-5)
        assert float(found.sum()) == pytest.approx(float(alone.sum()), abs=1e-5 * len(found))


@pytest.mark.parametrize("family", ["llama", "gemma3", "qwen2_sliding", "gpt2"])
@pytest.mark.parametrize("groups", [True, False], ids=["packed", "padded"])
@pytest.mark.parametrize("changed", [[9, 99, 33], [9, 21, 99], [9, 99, 98]])
def test_c51_a_change_in_the_first_sequence_changes_nothing_in_the_second(family, groups, changed):
    module = tiny_model(family).eval()
    with torch.no_grad():
        one, other = (
            Autoregressive()(module, of(first, FIVE, groups=groups), ("logp",))["logp"] for first in (THREE, changed)
        )
    torch.testing.assert_close(one[3:], other[3:], atol=1e-6, rtol=0)
    assert not torch.allclose(one[:3], other[:3], atol=1e-3)


@pytest.mark.parametrize("attention", ["flash_attention_2", "flex_attention", "flash_attention_3", None])
def test_c51_a_backend_that_cannot_keep_them_apart_is_refused(attention):
    config = SimpleNamespace(_attn_implementation=attention, model_type="any")
    with pytest.raises(ValueError, match=r"guerdon needs 'sdpa' or 'eager'"):
        check_attention(config)
