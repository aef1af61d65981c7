"""Losses of reward models: the card's numbers, what they do not see, and pairs, rankings and steps by hand."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import logsigmoid

from guerdon.advantages.segments import segments
from guerdon.collate import collate
from guerdon.data.columns import column, with_columns
from guerdon.engines.local import weigh
from guerdon.losses.reward_model import (
    AllPairs,
    BradleyTerry,
    PlackettLuce,
    SquaredError,
    StepCrossEntropy,
    at_last,
    bradley_terry,
    plackett_luce,
)
from guerdon.marks import mark
from guerdon.method import Term
from guerdon.reduce import group_mean, sequence_mean, token_mean
from guerdon.types import Episode, Pair, Score, Span, Task

EPISODE_TOKENS = 3


def reply(name: str = "t", value: float | None = None, tokens: int = EPISODE_TOKENS) -> Episode:
    scores = {} if value is None else {"r": Score(value)}
    said = Span(np.arange(tokens) + 5, np.zeros(tokens), parent=0)
    return Episode(Task(name, ""), [Span(np.array([1, 2])), said], scores=scores)


def pair(margin: float = 1.0):
    return Pair(reply(), reply(), margin).group()


def stream(batch, scores, noise: float = 9.0):
    """Scores by sequence at each last token; something else on the tokens before and on the prompt."""
    out = torch.full((len(batch),), noise)
    for s, score in enumerate(scores):
        out[(batch.seq == s).nonzero().max()] = score
    return {"score": out.requires_grad_()}


def total(objective, reduce, groups, scores):
    """The weighed loss, and its gradient on each sequence's score."""
    batch = weigh(collate(groups), [Term(objective, reduce)])
    out = stream(batch, scores)
    loss = (batch.extra["weight0"] * objective(out, batch)).sum()
    loss.backward()
    grad = torch.stack([out["score"].grad[(batch.seq == s).nonzero().max()] for s in range(len(scores))])
    assert float(out["score"].grad.abs().sum()) == pytest.approx(float(grad.abs().sum())), "only last tokens are read"
    return loss.item(), grad


def test_worked_numbers_of_a_pair():
    d = torch.tensor([1.0])
    assert float(bradley_terry(d)) == pytest.approx(0.3132617, abs=1e-6)
    assert float(bradley_terry(d, 0.5)) == pytest.approx(0.4740770, abs=1e-6)
    assert float(bradley_terry(d, 1.0)) == pytest.approx(math.log(2), abs=1e-6)


@pytest.mark.parametrize(
    ("objective", "expected"),
    [
        (BradleyTerry(), 0.3132617),
        (BradleyTerry(margins=True), 0.4740770),
        (BradleyTerry(centring=0.01), 0.4032617),
        (BradleyTerry(smoothing=0.1), 0.9 * 0.3132617 + 0.1 * 1.3132617),
    ],
)
def test_worked_numbers_through_a_batch(objective, expected):
    loss, grad = total(objective, group_mean, [pair(0.5)], [2.0, 1.0])
    assert loss == pytest.approx(expected, abs=1e-6)
    assert grad[0] < grad[1]


@settings(max_examples=25, deadline=None)
@given(st.floats(-5, 5), st.floats(-5, 5), st.floats(-5, 5))
def test_a_constant_per_prompt_is_seen_by_centring_alone(chosen, rejected, constant):
    plain = total(BradleyTerry(), group_mean, [pair()], [chosen, rejected])
    moved = total(BradleyTerry(), group_mean, [pair()], [chosen + constant, rejected + constant])
    assert plain[0] == pytest.approx(moved[0], abs=1e-4)
    torch.testing.assert_close(plain[1], moved[1], atol=1e-4, rtol=1e-4)
    centred = total(BradleyTerry(centring=0.5), group_mean, [pair()], [chosen, rejected])
    assert centred[0] - plain[0] == pytest.approx(0.5 * (chosen + rejected) ** 2, abs=1e-3, rel=1e-4)


def test_which_of_the_two_is_chosen_is_told_by_the_return_and_not_by_the_place():
    loss, grad = total(BradleyTerry(), group_mean, [pair()[::-1]], [1.0, 2.0])
    assert loss == pytest.approx(0.3132617, abs=1e-6)
    assert grad[0] > grad[1]


def test_a_tie_teaches_nothing_and_a_third_reply_is_refused():
    loss, grad = total(BradleyTerry(centring=1.0), group_mean, [[reply(value=1.0), reply(value=1.0)]], [3.0, 1.0])
    assert loss == 0.0
    assert grad.tolist() == [0, 0]
    with pytest.raises(ValueError, match="groups of two"):
        total(BradleyTerry(), group_mean, [[reply(value=float(i)) for i in range(3)]], [0.0, 0.0, 0.0])


def test_each_pair_counts_once_whatever_its_length():
    long = Pair(reply(tokens=9), reply(tokens=2)).group()
    both, _ = total(BradleyTerry(), group_mean, [pair(), long], [2.0, 1.0, 0.0, 0.0])
    assert both == pytest.approx((0.3132617 + math.log(2)) / 2, abs=1e-6)


@pytest.mark.parametrize("p", [0.0, 0.3, 0.5, 1.0])
def test_soft_labels_have_the_cards_loss_and_their_gradient_vanishes_at_their_own_odds(p):
    soft = [with_columns(pair(), {"p": p}, ["p"])]
    loss, _ = total(BradleyTerry(soft="p"), group_mean, soft, [2.0, 1.0])
    d = torch.tensor(1.0)
    assert loss == pytest.approx(float(-p * logsigmoid(d) - (1 - p) * logsigmoid(-d)), abs=1e-6)
    if 0 < p < 1:
        _, grad = total(BradleyTerry(soft="p"), group_mean, soft, [math.log(p / (1 - p)), 0.0])
        assert float(grad.abs().max()) < 1e-6


def test_soft_labels_and_smoothing_are_one_chance_of_a_wrong_label():
    soft = [with_columns(pair(), {"p": 0.7}, ["p"])]
    loss, _ = total(BradleyTerry(soft="p", smoothing=0.1), group_mean, soft, [2.0, 1.0])
    right = 0.7 * 0.9 + 0.3 * 0.1
    assert loss == pytest.approx(right * 0.3132617 + (1 - right) * 1.3132617, abs=1e-6)
    with pytest.raises(ValueError, match="probabilities"):
        total(BradleyTerry(soft="p"), group_mean, [with_columns(pair(), {"p": 1.5}, ["p"])], [2.0, 1.0])


@pytest.mark.parametrize(("changes", "what"), [({"smoothing": 0.5}, "smoothing"), ({"centring": -1.0}, "centring")])
def test_settings_out_of_range_are_refused(changes, what):
    with pytest.raises(ValueError, match=what):
        BradleyTerry(**changes)


def ranked(k: int):
    return [reply(value=float(-place)) for place in range(k)]


def test_a_ranking_of_two_is_a_pair():
    scores = torch.tensor([2.0, 1.0])
    assert float(plackett_luce(scores)) == pytest.approx(0.3132617, abs=1e-6)
    two = total(PlackettLuce(), group_mean, [ranked(2)], [2.0, 1.0])
    torch.testing.assert_close(two[1], total(BradleyTerry(), group_mean, [pair()], [2.0, 1.0])[1])
    assert total(AllPairs(), group_mean, [ranked(2)], [2.0, 1.0])[0] == pytest.approx(two[0])


def test_probabilities_of_all_rankings_add_up_to_one():
    scores = torch.tensor([0.3, -1.0, 2.0, 0.5])
    orders = torch.stack([scores[list(order)] for order in permutations(range(4))])
    assert float(torch.exp(-plackett_luce(orders)).sum()) == pytest.approx(1, abs=1e-5)


def test_rankings_through_a_batch_of_groups_of_any_size_and_order():
    scores = [0.3, -1.0, 2.0]
    alone, _ = total(PlackettLuce(), group_mean, [ranked(3)], scores)
    assert alone == pytest.approx(float(plackett_luce(torch.tensor(scores))), abs=1e-6)
    turned, _ = total(PlackettLuce(), group_mean, [ranked(3)[::-1]], scores[::-1])
    assert turned == pytest.approx(alone, abs=1e-6)
    two, _ = total(PlackettLuce(), group_mean, [ranked(3), ranked(2)], [*scores, 2.0, 1.0])
    assert two == pytest.approx((alone + 0.3132617) / 2, abs=1e-6)
    pairs, _ = total(AllPairs(), group_mean, [ranked(3)], scores)
    by_hand = [-logsigmoid(torch.tensor(scores[i] - scores[j])) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert pairs == pytest.approx(float(sum(by_hand)) / 3, abs=1e-6)


def test_squared_error_from_a_column_or_the_return_counts_each_reply_once():
    groups = [with_columns([reply(tokens=2)], {"s": 1.0}, ["s"]), with_columns([reply(tokens=7)], {"s": -1.0}, ["s"])]
    loss, grad = total(SquaredError(target="s"), sequence_mean, groups, [3.0, 0.0])
    assert loss == pytest.approx((4 / 2 + 1 / 2) / 2)
    torch.testing.assert_close(grad, torch.tensor([1.0, 0.5]))
    assert SquaredError(target="s").needs == (column("s"),)
    assert total(SquaredError(), sequence_mean, [[reply(value=1.0)]], [3.0])[0] == pytest.approx(2.0)


def test_steps_are_told_right_or_wrong_each_counting_once():
    steps = [Span(np.array([1]))]
    for place, label in enumerate((1.0, 0.0, 0.25)):
        steps += [Span(np.array([5, 6]), parent=len(steps) - 1)]
        steps += [Span(np.array([7]), np.zeros(1), parent=len(steps) - 1, extra={"label": label})]
        assert place < 3
    batch = weigh(collate([[Episode(Task("t", ""), steps)]]), [Term(StepCrossEntropy(), token_mean)])
    scores = torch.zeros(len(batch))
    scores[batch.mask] = torch.tensor([2.0, 0.0, -1.0])
    p = torch.tensor([2.0, 0.0, -1.0]).sigmoid()
    by_hand = -(torch.log(p[0]) + torch.log(1 - p[1]) + 0.25 * torch.log(p[2]) + 0.75 * torch.log(1 - p[2])) / 3
    found = (batch.extra["weight0"] * StepCrossEntropy()({"score": scores}, batch)).sum()
    assert float(found) == pytest.approx(float(by_hand), abs=1e-6)


def test_the_last_token_is_the_last_on_the_mask_and_a_sequence_without_one_is_refused():
    ids, mask = torch.tensor([0, 0, 0, 1, 1]), torch.tensor([True, True, False, False, True])
    values = torch.arange(5.0)
    assert at_last(segments(ids), values, mask).tolist() == [1, 4]
    with pytest.raises(ValueError, match="sequence 1 has no token"):
        at_last(segments(ids), values, torch.tensor([True, True, True, False, False]))


def test_heads_learn_from_their_own_part_of_the_batch():
    """Routing by category: a mask per category, and a term of each head on it."""
    groups = [[mark(one, kind=float(kind)) for one in pair()] for kind in (0, 1, 1)]
    batch = collate(groups)
    kind = batch.extra["kind"]
    batch = batch.put(**{name: batch.mask & (kind == number) for number, name in enumerate(("style", "facts"))})
    terms = [Term(BradleyTerry(head=name), group_mean, mask=name) for name in ("style", "facts")]
    batch = weigh(batch, terms)
    out = {name: torch.zeros(len(batch), requires_grad=True) for name in ("style", "facts")}
    losses = [(batch.extra[f"weight{i}"] * term.objective(out, batch)).sum() for i, term in enumerate(terms)]
    assert [float(loss) for loss in losses] == pytest.approx([math.log(2), math.log(2)])
    sum(losses).backward()
    for number, name in enumerate(("style", "facts")):
        touched = out[name].grad != 0
        assert bool(touched.any())
        assert bool((kind[touched] == number).all())
