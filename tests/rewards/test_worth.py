"""What verdicts are worth: the defaults, partial credit by hand, and words from the command line."""

import pytest

from guerdon.rewards.worth import WORTH, Worth
from guerdon.types import STATUSES, Verdict


def test_by_default_only_a_verifiers_own_failure_is_no_score():
    assert [WORTH.value(Verdict(status)) for status in STATUSES] == [1.0, 0.0, 0.0, 0.0, 0.0, None]


def test_a_share_counts_only_where_partial_credit_is_given_and_only_for_wrong():
    partial = Worth(wrong=-1.0, partial=True)
    assert partial.value(Verdict("wrong", share=0.75)) == 0.5
    assert partial.value(Verdict("wrong")) == -1.0
    assert partial.value(Verdict("timed_out", share=0.75)) == 0.0
    assert Worth(wrong=-1.0).value(Verdict("wrong", share=0.75)) == -1.0


def test_words_change_what_they_name_and_nothing_else():
    assert WORTH.but("cannot_tell=none, wrong=-0.5,partial=yes") == Worth(wrong=-0.5, cannot_tell=None, partial=True)
    assert WORTH.but("") == WORTH


@pytest.mark.parametrize(
    ("text", "message"),
    [("wron=1", "'wron'.*wrong"), ("wrong=nan", "finite"), ("wrong=", "finite"), ("partial=1", "yes or no")],
)
def test_words_that_say_nothing_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        WORTH.but(text)


def test_a_share_outside_0_to_1_is_no_share():
    with pytest.raises(ValueError, match="0 to 1"):
        Verdict("wrong", share=1.5)
