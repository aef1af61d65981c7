"""Judges whose wording decides, and sets that are known by heart."""

from __future__ import annotations

import pytest

from guerdon.data.probe import Recall
from guerdon.evaluation.protocol.robustness import contaminated, judge_spread


def test_spread_and_flips():
    plain, reworded = {"a": 0.6, "b": 0.5, "c": 0.1}, {"a": 0.5, "b": 0.7, "c": 0.1}
    found = judge_spread({"plain": plain, "reworded": reworded})
    assert found.spread == pytest.approx({"a": 0.1, "b": 0.2, "c": 0.0})
    assert found.flips == (("a", "b"),)


def test_a_tie_is_no_flip():
    assert judge_spread({"1": {"a": 0.5, "b": 0.5}, "2": {"a": 0.6, "b": 0.5}}).flips == ()


@pytest.mark.parametrize("scores", [{}, {"1": {"a": 0.5}, "2": {"b": 0.5}}])
def test_scores_that_cannot_be_compared(scores: dict):
    with pytest.raises(ValueError, match="expected"):
        judge_spread(scores)


def test_a_set_that_is_known_by_heart_is_suspect():
    old = [Recall(80, 50, 0.6, 0.7, 0.5), Recall(40, 50, 0.05, 0.2, None)]
    fresh = [Recall(80, 50, 0.0, 0.1, 0.0), Recall(40, 50, 0.0, 0.1, None)]
    assert [(one.share, one.suspect) for one in contaminated(old, fresh)] == [(80, True), (40, False)]
    assert contaminated(old, fresh)[0].right == (0.5, 0.0)
    with pytest.raises(ValueError, match="shares"):
        contaminated(old, fresh[:1])
