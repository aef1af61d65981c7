"""Held-out steps, rankings and scores: shares by hand, with an engine that says what it is told to."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from guerdon.data.columns import with_columns
from guerdon.evaluation.fit import ranking_fit, scores_fit, steps_fit
from guerdon.types import Episode, Score, Span, Task


class Told:
    """Gives the numbers that it was made with to the learned tokens, in order."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = list(numbers)

    def forward(self, batch, wants):
        out = torch.zeros(len(batch))
        count = int(batch.mask.sum())
        given, self.numbers = self.numbers[:count], self.numbers[count:]
        out[batch.mask] = torch.tensor(given)
        return dict.fromkeys(wants, out)


def steps(*labels: float) -> list[Episode]:
    spans = [Span(np.array([1]))]
    for label in labels:
        spans += [Span(np.array([5]), np.zeros(1), parent=len(spans) - 1, extra={"label": label})]
    return [Episode(Task("t", ""), spans)]


def reply(value: float | None = None) -> Episode:
    said = Span(np.array([5]), np.zeros(1), parent=0)
    return Episode(Task("t", ""), [Span(np.array([1])), said], scores={} if value is None else {"r": Score(value)})


def test_steps_count_by_reply_and_a_probability_of_a_half_is_wrong():
    found = steps_fit([steps(1.0, 0.0), steps(1.0)], Told(2.0, 1.0, 0.0), ("score",))
    assert found.accuracy.mean == pytest.approx((0.5 + 0.0) / 2)
    by_hand = math.log1p(math.exp(-2)) + math.log1p(math.exp(1)) + math.log(2)
    assert found.numbers["cross_entropy"] == pytest.approx(by_hand / 3, abs=1e-6)
    assert found.groups[0][0].scores["ranked"].value == pytest.approx(1 / (1 + math.exp(-1.0)))
    assert found.as_dict()["accuracy"]["n"] == 2


def test_rankings_count_their_untied_pairs():
    groups = [[reply(2.0), reply(1.0), reply(1.0)], [reply(0.0), reply(1.0)]]
    found = ranking_fit(groups, Told(0.5, 0.0, 1.0, 0.0, 0.0), ("score",))
    assert found.accuracy.mean == pytest.approx((0.5 + 0.0) / 2)
    assert found.groups[0][2].scores["ranked"].value == 1.0


def test_scores_are_held_to_their_columns():
    truth = [1.0, 2.0, 3.0, 0.0, 5.0, 5.0]
    groups = [with_columns([reply()], {"good": one}, ["good"]) for one in truth]
    found = scores_fit(groups, Told(1.0, 3.0, 0.0, 1.0, 5.0, 4.0), ("good",))
    assert found.accuracy.mean == 0.5
    assert found.accuracy.n == 2
    assert found.numbers["mse/good"] == pytest.approx((0 + 1 + 9 + 1 + 0 + 1) / 6)
    expected = np.corrcoef(truth, [1.0, 3.0, 0.0, 1.0, 5.0, 4.0])[0, 1]
    assert found.numbers["correlation/good"] == pytest.approx(expected, abs=1e-6)


def test_scores_that_are_all_alike_say_nothing():
    groups = [with_columns([reply()], {"good": 1.0}, ["good"]) for _ in range(4)]
    with pytest.raises(ValueError, match="all have the same score"):
        scores_fit(groups, Told(1.0, 2.0, 3.0, 4.0), ("good",))
