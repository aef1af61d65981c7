import pytest

from guerdon.judges.outcome import CAUSES, Failure, Labels, Preference
from guerdon.types import Verdict

LOST = Failure("network", "no connection")


@pytest.mark.parametrize("cause", CAUSES)
def test_a_failure_is_a_verdict_that_tells_its_cause_and_can_be_read_back(cause):
    failure = Failure(cause, "what: happened")
    assert failure.verdict.status == ("timed_out" if cause == "timeout" else "failed")
    assert failure.verdict.reason == f"{cause}: what: happened"
    assert Failure.of(failure.verdict) == failure


def test_a_verdict_of_another_kind_is_no_judgement():
    assert Failure.of(Verdict("failed", "ValueError: bad")).cause == "format"
    assert Failure.of(None).what == "no judgement was made"


def test_labels_are_normalised_and_say_how_much_they_had():
    labels = Labels.of({"1": 0.3, "2": 0.1})
    assert labels.probabilities == pytest.approx({"1": 0.75, "2": 0.25})
    assert labels.mass == pytest.approx(0.4)


def test_labels_that_nobody_would_say_are_a_failure():
    assert Labels.of({"1": 0.0, "2": 0.0}).cause == "format"
    assert Labels.of({"1": float("nan"), "2": 0.0}).cause == "format"


@pytest.mark.parametrize(
    ("votes", "first", "flipped", "counted"),
    [
        ([(1.0, 0.0)], 1.0, 0.0, 1),  # preferred at both places
        ([(1.0, 1.0)], 0.5, 1.0, 1),  # whatever comes first
        ([(0.0, 0.0)], 0.5, 1.0, 1),  # whatever comes last
        ([(0.0, 1.0)], 0.0, 0.0, 1),
        ([(0.5, 0.0)], 0.75, 0.0, 1),  # a tie and a win
        ([(1.0, 0.0), (1.0, 1.0), (0.0, 1.0), (1.0, 0.0)], 0.625, 0.25, 4),
        ([(1.0, LOST), (0.0, 1.0)], 0.0, 0.0, 1),  # half a vote would favour a place
    ],
)
def test_a_preference_is_the_mean_over_both_orders(votes, first, flipped, counted):
    assert Preference.of(votes) == Preference(first, flipped, counted)


def test_no_vote_in_both_orders_is_the_failure_of_one():
    assert Preference.of([(1.0, LOST), (LOST, 0.0)]) is LOST
