"""The grader against a policy that is paid for 'right': replies that claim everything, nothing, or are not mathematics.

No reply here is the answer of any gold it is paired with, and none may hang the grader or raise out of it.
"""

import pytest

from tests.rewards.verify.math.grading import graded
from tests.rewards.verify.math.hostile import GOLDS, HEDGES, HOSTILE, NUMBERS, SAME
from tests.rewards.verify.math.long import HUGE, LONG

pytestmark = pytest.mark.slow


def refused(pairs):
    answers = zip(pairs, graded(pairs), strict=True)
    right = [f"gold {gold[:99]!r}, text {text[:99]!r}: {a}" for (gold, text), a in answers if a["status"] == "right"]
    assert not right, "\n" + "\n".join(right)


def boxed(text):
    return text if "boxed" in text else rf"\boxed{{{text}}}"


@pytest.mark.parametrize("form", [str, boxed], ids=["bare", "boxed"])
def test_what_claims_nothing_or_everything_is_never_right(form):
    refused([(gold, form(reply)) for reply in HOSTILE for gold in GOLDS])


def test_a_hedge_around_the_answer_is_never_right():
    refused([(gold, boxed(hedge.format(gold, "43"))) for hedge in HEDGES for gold in [*NUMBERS, "x^2+2x+7", "2a+b"]])


def test_one_gold_is_never_another():
    refused([(gold, other) for gold in GOLDS for other in GOLDS if gold != other and not {gold, other} <= SAME])


@pytest.mark.parametrize("name", LONG)
def test_what_is_long_or_deep_ends_without_a_right(name):
    reply = LONG[name]
    refused([(gold, text) for gold in ("3", "x^2+7", r"\{4,6,9\}") for text in (reply, boxed(reply))])


def test_huge_numbers_end_without_a_right():
    refused([(gold, boxed(text)) for gold in ("3", "x^2+7", r"\{4,6,9\}") for text in HUGE])


def test_hostile_golds_end_too():
    refused([(gold, "3") for gold in [*LONG.values(), *HUGE, *HOSTILE]])
