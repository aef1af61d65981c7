import numpy as np
import pytest

from guerdon.evaluation.correlation import correlations


def test_worked_numbers():
    found = correlations([1, 2, 3, 4, 5], [2, 1, 4, 3, 5])
    assert found["spearman"].mean == pytest.approx(0.8)
    assert found["kendall"].mean == pytest.approx(0.6)
    assert found["pearson"].mean == pytest.approx(0.8)
    assert all(one.low < one.mean < one.high for one in found.values())


def test_one_line_is_one_and_no_variation_is_nothing():
    assert all(one.mean == one.low == 1 for one in correlations(range(10), range(10)).values())
    assert all(one.mean == -1 for one in correlations(range(10), [-x for x in range(10)]).values())
    assert set(correlations([1] * 10, range(10)).values()) == {None}
    assert set(correlations([1, 2, 3, 4], [4, 3, 2, 2]).values()) == {None}


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_intervals_hold_the_truth_as_often_as_they_say(kind):
    numbers, rho = np.random.default_rng(0), 0.4
    truth = {"pearson": rho, "spearman": 6 / np.pi * np.arcsin(rho / 2), "kendall": 2 / np.pi * np.arcsin(rho)}[kind]
    inside = 0
    for _ in range(400):
        x = numbers.normal(size=80)
        y = rho * x + (1 - rho**2) ** 0.5 * numbers.normal(size=80)
        found = correlations(x.tolist(), y.tolist())[kind]
        inside += found.low <= truth <= found.high
    assert 0.92 <= inside / 400 <= 0.98


def test_fewer_units_make_it_less_sure():
    x, y = list(range(20)), [(7 * i) % 20 for i in range(20)]
    wide, narrow = correlations(x, y, units=10), correlations(x, y)
    assert wide["pearson"].high - wide["pearson"].low > narrow["pearson"].high - narrow["pearson"].low
