"""Aggregation of step probabilities: the card's numbers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.rewards.steps import aggregate

STEPS = (0.9, 0.2, 0.6)


@pytest.mark.parametrize(("how", "value"), [("min", 0.2), ("product", 0.108), ("last", 0.6), ("mean", 0.5666667)])
def test_worked_numbers(how, value):
    assert aggregate(STEPS, how) == pytest.approx(value, abs=1e-6)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=30))
def test_order_between_them(steps):
    product, least, mean = (aggregate(steps, how) for how in ("product", "min", "mean"))
    assert product <= least * (1 + 1e-9)
    assert least <= mean * (1 + 1e-9)
    assert product == pytest.approx(math.prod(steps))
    if len(steps) == 1:
        assert product == pytest.approx(least) == pytest.approx(mean) == pytest.approx(aggregate(steps, "last"))


def test_a_step_that_is_surely_wrong_makes_the_product_nought_and_many_steps_do_not_overflow():
    assert aggregate([0.5, 0.0], "product") == 0.0
    assert aggregate([0.5] * 5000, "product") == 0.0


def test_no_step_is_refused():
    with pytest.raises(ValueError, match="no step"):
        aggregate([], "min")
