from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.evaluation.intervals import wilson
from guerdon.evaluation.pass_at_k import pass_at_k, pass_at_k_over_tasks


@pytest.mark.parametrize(
    ("n", "c", "k", "value"),
    [(4, 1, 2, 0.5), (4, 0, 4, 0.0), (4, 4, 1, 1.0), (5, 2, 1, 0.4), (5, 2, 4, 1.0), (10, 3, 2, 8 / 15)],
)
def test_exact_values(n, c, k, value):
    assert pass_at_k(n, c, k) == value


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 8), st.data())
def test_it_is_the_share_of_subsets_with_a_right_one(n, data):
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    subsets = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, subsets)) / len(subsets), abs=1e-15)


def test_many_attempts_do_not_overflow():
    assert 0.9 < pass_at_k(10_000, 30, 1000) < 1.0


@pytest.mark.parametrize(("n", "c", "k"), [(4, 5, 1), (4, 1, 5), (4, 1, 0), (4, -1, 1)])
def test_impossible_counts_are_refused(n, c, k):
    with pytest.raises(ValueError, match="expected 1 <= k <= n"):
        pass_at_k(n, c, k)


def test_the_mean_is_over_tasks_whatever_their_attempts():
    got = pass_at_k_over_tasks({"a": (4, 1), "b": (10, 0), "c": (2, 2)}, k=2)
    assert (got.mean, got.n) == (pytest.approx((0.5 + 0.0 + 1.0) / 3), 3)
    assert got.low < got.mean < got.high


def test_pass_at_1_of_single_attempts_is_wilsons():
    counts = {f"t{i}": (1, int(i < 7)) for i in range(20)}
    assert pass_at_k_over_tasks(counts, 1).low == pytest.approx(wilson(7, 20).low)


def test_a_task_with_too_few_attempts_is_named():
    with pytest.raises(ValueError, match="'b' has 1 attempts; expected at least 2"):
        pass_at_k_over_tasks({"a": (2, 1), "b": (1, 1)}, k=2)
