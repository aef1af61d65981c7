"""Labels: exact probabilities that add up, frequencies that match them, circles, ties, groups, the best accuracy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.synthetic.labels import DRAWS, Labellers, Labels, Traits, bayes_accuracy, order_accuracy


def traits(quality, length=0.0, phase=0.0, views=None) -> Traits:
    quality = np.atleast_1d(np.asarray(quality, dtype=float))
    full = [np.broadcast_to(np.asarray(one, dtype=float), quality.shape) for one in (length, phase)]
    return Traits(quality, full[0], full[1], quality[None] if views is None else np.asarray(views, dtype=float))


def some(n: int, groups: int = 1, seed: int = 0) -> Traits:
    numbers = np.random.default_rng(seed)
    quality, length, phase = numbers.normal(size=(3, n))
    return Traits(
        quality, length, phase, quality + (numbers.normal(size=(groups, n)) if groups > 1 else np.zeros((1, n)))
    )


KINDS = {
    "plain": Labels(),
    "cold": Labels((Labellers(temperature=0.25),)),
    "flipped": Labels((Labellers(flip=0.2),)),
    "long": Labels(length_bias=1.5),
    "circles": Labels(cycle=3.0),
    "ties": Labels(ties=0.8),
    "groups": Labels((Labellers(0.7, 0.5), Labellers(0.3, 2.0, 0.1))),
    "all": Labels((Labellers(0.7, 0.5, 0.05), Labellers(0.3, 2.0, 0.1)), 0.7, 1.5, 0.6),
}


@pytest.mark.parametrize(
    ("labels", "a", "b", "expected"),
    [
        (Labels(), traits(2.0), traits(1.0), 1 / (1 + math.exp(-1))),
        (Labels((Labellers(temperature=0.5),)), traits(2.0), traits(1.0), 1 / (1 + math.exp(-2))),
        (Labels((Labellers(flip=0.1),)), traits(2.0), traits(1.0), 0.1 + 0.8 / (1 + math.exp(-1))),
        (Labels(length_bias=0.5), traits(1.0, length=3.0), traits(1.0, length=1.0), 1 / (1 + math.exp(-1))),
        (Labels(cycle=2.0), traits(1.0, phase=0.0), traits(1.0, phase=math.pi / 2), 1 / (1 + math.exp(-2))),
        (
            Labels((Labellers(0.75), Labellers(0.25))),
            traits(0.0, views=[[1.0], [0.0]]),
            traits(0.0, views=[[0.0], [1.0]]),
            0.75 / (1 + math.exp(-1)) + 0.25 / (1 + math.exp(1)),
        ),
    ],
)
def test_probabilities_by_hand(labels: Labels, a: Traits, b: Traits, expected: float):
    assert labels.probability(a, b) == pytest.approx([expected])


def test_a_tie_by_hand():
    labels = Labels(ties=1.0)
    a, b = traits(0.0), traits(0.0)  # p = 1/2, s = 1/2
    assert labels.tie(a, b) == pytest.approx([1 / 3])
    assert labels.win(a, b) == pytest.approx([1 / 3])


@pytest.mark.parametrize("name", KINDS)
def test_the_two_labels_and_the_tie_sum_to_one(name: str):
    labels = KINDS[name]
    a, b = some(50, len(labels.groups), 1), some(50, len(labels.groups), 2)
    assert labels.win(a, b) + labels.win(b, a) + labels.tie(a, b) == pytest.approx(np.ones(50))
    assert labels.probability(a, b) + labels.probability(b, a) == pytest.approx(np.ones(50))
    assert labels.logits(a, b) == pytest.approx(-labels.logits(b, a))
    assert labels.probability(a, a) == pytest.approx(np.full(50, 0.5))


@settings(max_examples=30, deadline=None)
@given(st.floats(-500, 500), st.floats(-500, 500), st.floats(0.01, 10), st.floats(0, 0.5), st.floats(0, 5))
def test_probabilities_are_probabilities(one: float, other: float, temperature: float, flip: float, ties: float):
    labels = Labels((Labellers(1.0, temperature, flip),), ties=ties)
    a, b = traits(one), traits(other)
    p, tie = labels.probability(a, b), labels.tie(a, b)
    assert flip - 1e-9 <= p[0] <= 1 - flip + 1e-9
    assert 0 <= tie[0] < 1
    assert (p + labels.probability(b, a))[0] == pytest.approx(1.0)


@pytest.mark.parametrize("name", KINDS)
def test_labels_come_as_often_as_they_should(name: str):
    labels, n = KINDS[name], 40_000
    a, b = some(1, len(labels.groups), 3), some(1, len(labels.groups), 4)
    many = np.zeros(n, dtype=np.int64)
    drawn = labels.draw(a.take(many), b.take(many), np.random.default_rng(5).random((n, DRAWS)))
    for outcome, expected in ((1.0, labels.win(a, b)), (0.0, labels.win(b, a)), (0.5, labels.tie(a, b))):
        p = float(expected[0])
        assert abs(float((drawn.outcome == outcome).mean()) - p) <= 4.5 * math.sqrt(p * (1 - p) / n)
    for g, group in enumerate(labels.groups):
        spread = math.sqrt(group.share * (1 - group.share) / n)
        assert abs(float((drawn.group == g).mean()) - group.share) <= 4.5 * spread
    assert ((drawn.margin > 0) == (drawn.outcome != 0.5)).all()


def test_a_margin_is_larger_where_the_gap_is():
    n = 20_000
    near, far = traits(np.full(n, 0.1)), traits(np.full(n, 5.0))
    uniform = np.random.default_rng(0).random((n, DRAWS))
    margins = [Labels().draw(one, traits(np.zeros(n)), uniform).margin for one in (near, far)]
    assert margins[1].mean() == pytest.approx(5.0, abs=0.1)
    assert margins[0].mean() == pytest.approx(2 * math.log(2), abs=0.1)  # E|logistic| = 2 ln 2


def test_circles_that_no_reward_represents():
    phases = 2 * np.pi * np.arange(3) / 3
    matrix = Labels(cycle=2.0).matrix(traits(np.zeros(3), phase=phases))
    assert matrix[0, 1] == pytest.approx(1 / (1 + math.exp(-2 * math.sin(2 * math.pi / 3))))
    assert min(matrix[0, 1], matrix[1, 2], matrix[2, 0]) > 0.8
    assert matrix + matrix.T == pytest.approx(np.ones((3, 3)))


def test_without_circles_the_log_odds_are_differences():
    items = some(6)
    matrix = Labels().matrix(items)
    assert np.log(matrix / (1 - matrix)) == pytest.approx(items.quality[:, None] - items.quality[None, :])


@pytest.mark.parametrize("name", ["plain", "flipped", "groups", "all"])
def test_the_best_accuracy_is_that_of_the_best_prediction(name: str):
    labels, n = KINDS[name], 60_000
    a, b = some(n, len(labels.groups), 6), some(n, len(labels.groups), 7)
    p = labels.probability(a, b)
    drawn = labels.draw(a, b, np.random.default_rng(8).random((n, DRAWS)))
    strict = drawn.outcome != 0.5
    best = float(((drawn.outcome == 1) == (p > 0.5))[strict].mean())
    assert bayes_accuracy(p[strict]) == pytest.approx(best, abs=0.01)
    worse = float(((drawn.outcome == 1) == (a.length > b.length))[strict].mean())
    assert worse < best
    assert order_accuracy(p[strict], (a.length - b.length)[strict]) == pytest.approx(worse, abs=0.01)


def test_accuracies_by_hand():
    p = np.array([0.9, 0.3, 0.5])
    assert bayes_accuracy(p) == pytest.approx((0.9 + 0.7 + 0.5) / 3)
    assert order_accuracy(p, np.array([1.0, 1.0, 0.0])) == pytest.approx((0.9 + 0.3 + 0.5) / 3)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Labellers(temperature=0.0), "temperature is 0.0; expected more than 0"),
        (lambda: Labellers(flip=0.6), "flip is 0.6; expected 0 to 0.5"),
        (lambda: Labellers(share=0.0), "share is 0.0"),
        (lambda: Labels((Labellers(0.5), Labellers(0.4))), "sum to 0.9; expected 1"),
        (lambda: Labels(ties=-1.0), "ties is -1.0; expected 0 or more"),
        (lambda: Labels().probability(some(2, 2), some(2, 2)), "seen by 2 groups, and there are 1"),
    ],
)
def test_what_is_out_of_range_is_refused(make, said: str):
    with pytest.raises(ValueError, match=said):
        make()
