"""Two models: shared accuracy, differences that vanish for one model, and parity that is insisted on."""

from __future__ import annotations

import math

import pytest

from guerdon.evaluation.protocol.metrics import tax
from guerdon.evaluation.protocol.paired import accuracy_difference, deltas, shared
from tests.evaluation.protocol.made import decode, evaluated, of_answers


def test_accuracy_where_both_attempt():
    a = of_answers({"1": ["a"], "2": ["a"], "3": ["b"], "4": ["?"]})
    b = of_answers({"1": ["?"], "2": ["b"], "3": ["a"], "4": ["a"]})
    assert (tax(a).accuracy_attempted, tax(b).accuracy_attempted) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    found = shared(a, b)
    assert (found.n, found.first, found.second) == (2, 0.5, 0.5)


def test_errors_are_taken_where_both_attempt():
    a = evaluated(decode("1", confidence=0.9, correct=True), decode("2", confidence=1.0), decode("3", answer="?"))
    b = evaluated(decode("1", confidence=0.5, correct=True), decode("2", answer=None), decode("3", confidence=1.0))
    found = shared(a, b)
    assert found.first_ece[10] == pytest.approx(0.1)
    assert found.second_ece[15] == pytest.approx(0.5)


def test_nothing_shared_is_undefined():
    found = shared(of_answers({"1": ["a"], "2": ["?"]}), of_answers({"1": [None], "2": ["a"]}))
    assert found.n == 0
    assert math.isnan(found.first)
    assert math.isnan(found.second_ece[10])


def test_one_model_differs_from_itself_in_nothing():
    one = evaluated(*(decode(f"{i}", j, f"{j}", j == i, 0.1 * j) for i in range(3) for j in range(4)))
    found = deltas(one, one)
    assert {"accuracy", "pass@4", "maj@4", "entropy", "ECE, 10 bins"} <= found.keys()
    assert set(found.values()) == {0.0}
    difference = accuracy_difference(one, one)
    assert (difference.mean, difference.low, difference.high) == (0.0, 0.0, 0.0)


def test_other_protocols_are_refused():
    one, other = evaluated(decode("1")), evaluated(decode("1"), seed=1, verifier="x@2")
    for compare in (shared, deltas, accuracy_difference):
        with pytest.raises(ValueError, match=r"verifier \('x@1' and 'x@2'\), seed"):
            compare(one, other)
