import math
import random

import pytest

from guerdon.evaluation.calibration import calibration, of_differences, sigmoid


def test_worked_numbers():
    found = calibration([0.7, 0.7, 0.9, 0.9], [1, 0, 1, 1], bins=10)
    assert found.error == pytest.approx(0.15)
    assert found.largest == pytest.approx(0.2)
    assert found.brier == pytest.approx((0.09 + 0.49 + 0.01 + 0.01) / 4)
    assert [(one.low, one.high, one.n) for one in found.table] == [(0.7, 0.8, 2), (0.9, 1.0, 2)]


@pytest.mark.parametrize("bins", [10, 15, 100])
def test_an_edge_belongs_to_the_bin_above_it_and_one_to_the_last(bins):
    for number in range(bins):
        (only,) = calibration([number / bins], [1], bins).table
        assert only.low == number / bins
    (last,) = calibration([1.0], [1], bins).table
    assert last.high == 1


@pytest.mark.parametrize("bins", [10, 15])
def test_labels_drawn_from_the_probabilities_are_calibrated_and_a_doubled_score_is_not(bins):
    numbers = random.Random(0)
    signed = []
    for _ in range(20000):
        difference = numbers.gauss(0, 1.5)
        signed.append(difference if numbers.random() < sigmoid(difference) else -difference)
    assert of_differences(signed, bins).error < 0.01
    assert of_differences([2 * value for value in signed], bins).error > 0.08


def test_a_score_that_knows_nothing_is_calibrated():
    assert of_differences([0.0, 0.0, 0.0]).error == 0


def test_large_differences_do_not_overflow():
    assert sigmoid(-1e6) == 0
    assert of_differences([1e6, -1e6]).error == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("confidences", "outcomes", "bins", "message"),
    [
        ([], [], 10, "at least one"),
        ([0.5], [1], 0, "bins is 0"),
        ([1.5], [1], 10, "found 1.5"),
        ([math.nan], [1], 10, "nan"),
    ],
)
def test_what_cannot_be_binned_is_refused(confidences, outcomes, bins, message):
    with pytest.raises(ValueError, match=message):
        calibration(confidences, outcomes, bins)
