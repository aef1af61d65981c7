import pytest

from guerdon.rewards.verify.text import ExactMatch
from tests.replies import group, scores


@pytest.mark.parametrize("reply", ["cba", " cba\n", "ｃｂａ"])
def test_space_around_and_unicode_spelling_do_not_count(reply):
    assert scores(ExactMatch(), group([reply], answer="cba"))[0].value == 1.0


@pytest.mark.parametrize("reply", ["CBA", "c ba", "the answer is cba"])
def test_everything_else_counts(reply):
    (score,) = scores(ExactMatch(), group([reply], answer="cba"))
    assert (score.value, score.verdict.status) == (0.0, "wrong")


def test_case_counts_unless_told_otherwise():
    assert scores(ExactMatch(case_sensitive=False), group(["STRASSE"], answer="straße"))[0].value == 1.0


def test_an_empty_reply_is_no_answer():
    assert scores(ExactMatch(), group([" "], answer="x"))[0].verdict.status == "no_answer"
    assert scores(ExactMatch(), group([""], answer=""))[0].verdict.status == "right"


def test_answers_may_be_several_or_no_text():
    assert [s.value for s in scores(ExactMatch(), group(["a", "b", "c"], answer=["a", "b"]))] == [1.0, 1.0, 0.0]
    assert scores(ExactMatch(), group(["4"], answer=4))[0].value == 1.0
