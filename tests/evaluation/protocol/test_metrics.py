"""Numbers of one model: the exact checks of the card, and what is undefined."""

from __future__ import annotations

import math
from itertools import combinations
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.evaluation.protocol.metrics import (
    accuracy,
    avg_at_m,
    diversity,
    ece,
    figures,
    maj_at,
    pass_at,
    saturation,
    tax,
)
from tests.evaluation.protocol.made import decode, evaluated, of_answers


def test_one_right_of_four():
    found = of_answers({"x": ["a", "b", "c", "d"]})
    assert [pass_at(found, k).mean for k in (1, 2, 4)] == [0.25, 0.5, 1.0]
    assert accuracy(found).mean == 0.25
    with pytest.raises(ValueError, match="at least 5"):
        pass_at(found, 5)
    with pytest.raises(ValueError, match="maj@5"):
        maj_at(found, 5)


def test_error_of_two_bins():
    sure = ((0.9, True), (0.9, False), (0.1, False), (0.1, False))
    found = evaluated(*(decode(f"{i}", correct=right, confidence=c) for i, (c, right) in enumerate(sure)))
    assert ece(found.decodes, 2) == pytest.approx(0.25)
    assert set(tax(found).ece) == {10, 15}


def test_wrong_answers_for_abstentions_cost_accuracy_of_attempts_alone():
    honest = of_answers({"x": ["a"], "y": ["?"], "z": ["?"], "u": ["b"]})
    inflated = of_answers({"x": ["a"], "y": ["b"], "z": ["b"], "u": ["b"]})
    before, after = tax(honest), tax(inflated)
    assert (before.accuracy, after.accuracy) == (0.25, 0.25)
    assert (before.accuracy_attempted, after.accuracy_attempted) == (0.5, 0.25)
    assert (before.not_attempted, after.not_attempted) == (2, 0)
    assert (before.attempt_rate, after.attempt_rate) == (0.5, 1.0)


def test_answers_that_tie_share_the_credit():
    assert maj_at(of_answers({"x": ["a", "b", "c"]}), 3) == pytest.approx(1 / 3)
    assert maj_at(of_answers({"x": ["a", "a", "b"]}), 3) == 1.0
    assert maj_at(of_answers({"x": ["b", "b", "a"]}), 3) == 0.0
    assert maj_at(of_answers({"x": ["a", "?", None]}), 3) == 1.0  # who does not attempt has no vote
    assert maj_at(of_answers({"x": ["?", None, "?"]}), 3) == 0.0
    assert maj_at(of_answers({"x": ["a", "a", "b", "b", "c"]}), 2) == 0.5  # blocks aa and bb; the odd one is left out


def test_what_nobody_attempted_is_undefined_and_not_shown():
    found = tax(of_answers({"x": ["?"], "y": [None]}))
    assert found.accuracy == 0.0
    assert math.isnan(found.accuracy_attempted)
    assert all(math.isnan(value) for value in found.ece.values())
    assert math.isnan(found.refusal_quality)  # no unanswerable item
    shown = figures(of_answers({"x": ["?"], "y": [None]}))
    assert "accuracy attempted" not in shown
    assert shown["refused"] == 0.5


def test_refusing_where_there_is_no_answer_is_a_quality():
    told = [decode("x", answer="?", answerable=False), decode("y", answer="?"), decode("z"), decode("u", correct=True)]
    assert tax(evaluated(*told)).refusal_quality == pytest.approx(1 - 1 / 3)


def test_a_right_answer_that_is_declined_is_not_right():
    assert tax(evaluated(decode("x", answer="?", correct=True))).accuracy == 0.0


def test_errors_of_a_mean_over_items_and_seeds():
    runs = [of_answers({"x": ["b", "b"], "y": ["a", "b"]}), of_answers({"x": ["a", "b"], "y": ["a", "a"]})]
    found = avg_at_m(runs)
    assert (found.mean, found.items, found.seeds) == pytest.approx((0.5, 0.25, 0.25))  # means 1/4, 3/4 either way
    cells = math.sqrt(1 / 6 / 4)  # of 0, 1/2, 1/2, 1
    assert found.both == pytest.approx(math.sqrt(0.25**2 + 0.25**2 - cells**2))
    alone = avg_at_m(runs[:1])
    assert math.isnan(alone.seeds)
    assert alone.both == alone.items
    with pytest.raises(ValueError, match="different items"):
        avg_at_m([runs[0], of_answers({"x": ["a"]})])


def test_seeds_that_are_equal_leave_the_error_over_items():
    one = of_answers({"x": ["a"], "y": ["b"]})
    assert avg_at_m([one, one, one]).both == pytest.approx(0.5)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=4))
def test_the_curve_starts_at_the_average_and_is_the_share_of_subsets(rows: list[list[bool]]):
    found = of_answers(
        {f"{i}": ["a" if right else f"{j}" for j, right in enumerate(row)] for i, row in enumerate(rows)}
    )
    points = {point.k: point for point in saturation(found)}
    assert list(points) == [1, 2, 4, 6]
    assert points[1].pass_at_k == pytest.approx(accuracy(found).mean)
    assert points[1].maj_at_k == pytest.approx(accuracy(found).mean)
    assert [p.tokens for p in points.values()] == [3, 6, 12, 18]
    for k in (2, 4):
        subsets = [float(any(chosen)) for row in rows for chosen in combinations(row, k)]
        assert points[k].pass_at_k == pytest.approx(fmean(subsets))


def test_distinct_texts_and_right_answers():
    told = [decode("x", 0, "1", True), decode("x", 1, "2", True), decode("x", 2, "1", True), decode("x", 3, "9")]
    assert diversity(evaluated(*told, *(decode("y", i, "7") for i in range(4)))) == ((3 + 1) / 2, (2 + 0) / 2)
