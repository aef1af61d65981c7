from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from speed.summary import differing, ratios, slope, summarise


def row(step: float, **further: float) -> dict[str, float]:
    return {"step": step, "cpu": 2 * step, "threads": 2, "peak_mb": 100.0, **further}


def test_medians_are_taken_of_every_part_by_itself() -> None:
    rows = [row(3.0, sample=1.0, learn=2.0, tokens=10), row(1.0, sample=0.5, learn=0.5, tokens=10)]
    rows.append(row(9.0, sample=2.0, learn=7.0, tokens=30))
    found = summarise(rows)
    assert (found["step"], found["sample"], found["learn"], found["cpu"]) == (3.0, 1.0, 2.0, 6.0)
    assert found["sampled_tokens_per_second"] == 15.0  # the median of 10, 20 and 15
    assert [one["step"] for one in found["steps"]] == [3.0, 1.0, 9.0]


def test_the_peak_is_the_highest_and_disturbed_steps_are_counted() -> None:
    found = summarise([row(1.0, others=0.04), row(1.0, others=0.5) | {"peak_mb": 300.4}, row(1.0)])
    assert found["peak_mb"] == 300
    assert found["disturbed_steps"] == 1


def test_generation_alone_has_its_rate_from_the_whole_step() -> None:
    assert summarise([row(4.0, tokens=100)])["sampled_tokens_per_second"] == 25.0


def test_nothing_counted_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one round"):
        summarise([])


def test_ratios_say_how_many_times_as_fast_and_which_share_of_the_memory() -> None:
    ours, theirs = summarise([row(2.0, sample=1.0, learn=1.0, tokens=1)]), summarise([row(5.0)])
    assert ratios(ours, theirs | {"peak_mb": 400}) == {"step": 2.5, "cpu": 2.5, "memory": 0.25}


def test_rounds_that_were_counted_differently_are_named() -> None:
    ours = [row(1, tokens=3), row(1, tokens=4), row(1)]
    theirs = [row(1, tokens=3), row(1, tokens=5), row(1, tokens=6)]
    assert differing(ours, theirs, "tokens") == [1]


@settings(deadline=None, max_examples=25)
@given(st.floats(-2, 3), st.floats(0.01, 100), st.lists(st.integers(1, 500), min_size=2, max_size=6, unique=True))
def test_the_slope_of_a_power_is_that_power(power: float, factor: float, at: list[int]) -> None:
    assert slope(at, [factor * x**power for x in at]) == pytest.approx(power, abs=1e-6)


def test_a_slope_through_noise_is_the_least_squares_one() -> None:
    assert slope([1, math.e, math.e**2], [1, 1, math.e**3]) == pytest.approx(1.5)


def test_a_slope_needs_two_places() -> None:
    with pytest.raises(ValueError, match="two different places"):
        slope([2, 2], [1, 3])
