import pytest

from guerdon.judges.guard import Guard, TooManyJudgeFailures
from guerdon.judges.outcome import Failure

LOST, ODD = Failure("network", "refused"), Failure("format", "no grade")


def test_it_stops_above_its_share_and_says_which_causes():
    guard = Guard(max_share=0.5, window=10, least=4)
    for failure in (LOST, None, ODD, None, LOST):  # the third failure of five is 60 %
        if failure is LOST and len(guard._last) == 4:
            with pytest.raises(
                TooManyJudgeFailures, match=r"3 of the judge's last 5 .*50%\): network 2, format 1\. L.*"
            ):
                guard.note(failure)
        else:
            guard.note(failure)


def test_exactly_its_share_is_borne():
    guard = Guard(max_share=0.5, window=10, least=2)
    for _ in range(50):
        guard.note(None)
        guard.note(LOST)


def test_it_waits_for_enough_calls():
    guard = Guard(max_share=0.0, window=10, least=5)
    for _ in range(4):
        guard.note(LOST)
    with pytest.raises(TooManyJudgeFailures, match="5 of the judge's last 5"):
        guard.note(LOST)


def test_only_the_last_calls_count():
    guard = Guard(max_share=0.5, window=4, least=4)
    for _ in range(100):
        guard.note(None)
    guard.note(LOST)
    guard.note(LOST)
    with pytest.raises(TooManyJudgeFailures, match="3 of the judge's last 4"):
        guard.note(LOST)


@pytest.mark.parametrize("given", [{"max_share": 1.5}, {"max_share": -0.1}, {"least": 0}, {"window": 5, "least": 6}])
def test_a_guard_that_makes_no_sense_is_refused(given):
    with pytest.raises(ValueError, match="expected"):
        Guard(**given)
