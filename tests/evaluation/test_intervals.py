import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.evaluation.intervals import mean_over_tasks, paired_difference, rate_over_tasks, wilson


def one_each(values):
    return {f"t{i}": [value] for i, value in enumerate(values)}


def test_wilson_has_its_published_values():
    # Newcombe 1998, Statistics in Medicine 17, table I: 81 of 263 and 0 of 20, at 95 %.
    assert (wilson(81, 263).low, wilson(81, 263).high) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert (wilson(0, 20).low, wilson(0, 20).high) == pytest.approx((0.0, 0.1611), abs=5e-5)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 500), st.floats(0, 1))
def test_wilson_stays_within_bounds_and_mirrors(n, share):
    right = round(share * n)
    interval, mirrored = wilson(right, n), wilson(n - right, n)
    assert 0 <= interval.low <= interval.mean <= interval.high <= 1
    assert interval.low == pytest.approx(1 - mirrored.high)
    assert interval.low < interval.high


@pytest.mark.parametrize(("right", "n"), [(1, 0), (3, 2), (-1, 2)])
def test_impossible_counts_are_refused(right, n):
    with pytest.raises(ValueError, match="expected 0 <= right <= n"):
        wilson(right, n)


def test_one_sample_per_task_is_wilsons_interval():
    values = [1.0] * 7 + [0.0] * 13
    got, want = rate_over_tasks(one_each(values)), wilson(7, 20)
    assert (got.low, got.high, got.n) == (pytest.approx(want.low), pytest.approx(want.high), 20)


def test_samples_that_all_agree_add_nothing():
    single = rate_over_tasks(one_each([1.0, 0.0, 0.0, 1.0, 0.0]))
    copied = rate_over_tasks({f"t{i}": [value] * 50 for i, value in enumerate([1.0, 0.0, 0.0, 1.0, 0.0])})
    assert (copied.low, copied.high) == (pytest.approx(single.low), pytest.approx(single.high))


def test_independent_samples_add_something_and_never_more_than_their_number():
    mixed = rate_over_tasks({f"t{i}": [1.0, 0.0, 1.0, 0.0] for i in range(10)})
    assert (mixed.low, mixed.high) == (pytest.approx(wilson(5, 10).low), pytest.approx(wilson(5, 10).high))
    varied = rate_over_tasks({f"t{i}": [1.0] * (i % 3 + 1) + [0.0] * (3 - i % 3) for i in range(12)})
    assert wilson(6, 12).low < varied.low
    assert varied.low <= wilson(24, 48).low + 1e-9


def test_a_perfect_score_on_few_tasks_is_not_certain():
    assert (
        rate_over_tasks(one_each([1.0] * 10)).low
        == pytest.approx(wilson(10, 10).low)
        == pytest.approx(0.7225, abs=1e-4)
    )


@pytest.mark.parametrize("spread", [0.0, 0.35])
def test_the_rate_is_covered_about_as_often_as_promised(spread):
    numbers, hits = np.random.default_rng(0), 0
    for _ in range(300):
        chances = 0.6 + spread * numbers.choice([-1, 1], size=40)
        samples = {f"t{i}": list((numbers.random(4) < p).astype(float)) for i, p in enumerate(chances)}
        interval = rate_over_tasks(samples)
        hits += interval.low <= 0.6 <= interval.high
    assert hits / 300 >= 0.9


def test_the_t_interval_by_hand():
    # Means 1, 2, 3, 4: mean 2.5, deviation 1.2910, t(3) = 3.18245, half width 2.05425.
    got = mean_over_tasks({"a": [0.0, 2.0], "b": [2.0], "c": [3.0, 3.0, 3.0], "d": [4.0]})
    assert (got.mean, got.low, got.high, got.n) == (
        2.5,
        pytest.approx(0.44575, abs=1e-4),
        pytest.approx(4.55425, abs=1e-4),
        4,
    )


def test_one_task_says_nothing_about_others():
    assert mean_over_tasks({"a": [1.0, 1.0]}).low == -math.inf


def test_a_paired_difference_cancels_difficulty():
    hard = {f"t{i}": [float(i)] for i in range(10)}
    better = {task: [values[0] + 0.5 + 0.01 * (i % 2)] for i, (task, values) in enumerate(hard.items())}
    got = paired_difference(hard, better)
    assert got.mean == pytest.approx(0.505)
    assert 0.49 < got.low < 0.505 < got.high < 0.52
    assert paired_difference(better, hard).mean == pytest.approx(-0.505)


def test_pairs_must_be_pairs():
    with pytest.raises(ValueError, match="1 tasks are in one of the two only, such as 'b'"):
        paired_difference({"a": [1.0]}, {"a": [1.0], "b": [0.0]})


@pytest.mark.parametrize("values", [[], [math.nan]])
def test_a_task_without_a_finite_value_is_named(values):
    with pytest.raises(ValueError, match="task 'bad'"):
        mean_over_tasks({"bad": values})


def test_what_is_no_rate_is_refused():
    with pytest.raises(ValueError, match=r"found the value 1\.5"):
        rate_over_tasks({"a": [1.5]})


def test_it_reads_well():
    assert str(wilson(5, 10)) == "0.5 [0.2366, 0.7634] (n=10)"
