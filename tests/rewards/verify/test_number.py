import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.rewards.fault import RewardFault
from guerdon.rewards.verify.number import NumericMatch, last_number
from tests.replies import group, scores


def status(reply, *answers):
    return NumericMatch().check(reply, list(answers)).status


SIGNS = [
    ("so the answer is -17", "-17"),
    ("Answer: -4.5", "-4.5"),
    (r"\boxed{-17}", "-17"),
    ("pages 5-17", "17"),
    ("pages 5–17", "17"),
    ("5 - 17", "17"),
    ("x = - 17", "-17"),
    ("**-17**", "-17"),
    ("(-17)", "-17"),
    ("-$5", "-5"),
    ("$-5", "-5"),
    ("GPT-4", "4"),
    ("- 17 apples", "17"),
    ("f(2)-17", "17"),
    ("+7", "7"),
    ("−9", "-9"),
    ("-9", "−9"),
]
FORMS = [
    ("２７", "27"),
    ("7^{\\text{th}}", "7"),
    ("58,500", "58500"),
    ("23450", r"23,\!450"),
    ("23{,}450", "23450"),
    ("23\u202f450", "23450"),
    (r"48 \mbox{ cm}^2", "48"),
    ("48 cm²", "48"),
    (r"5.4 \text{ cents}", "5.4"),
    ("50%", "50"),
    ("it was 5.", "5"),
    ("...12", "12"),
    (".5", "0.5"),
    ("答案是42。", "42"),
    ("12/5/2020", "2020"),
    ("(1,2)", "2"),
    ("1,2345", "2345"),
    ("3/4", "0.75"),
    (r"\frac{3}{4}", "0.75"),
    (r"-\frac12", "-0.5"),
    (r"2\frac{1}{2}", "2.5"),
    ("2½", "2.5"),
    ("3 × 10^5", "300000"),
    (r"3 \times 10^{-2}", "0.03"),
    ("3e5", "300000"),
    ("2^10", "1024"),
    ("10²", "100"),
    ("10^{-3}", "0.001"),
]
MARKED = [
    ("48/2 = <<48/2=24>>24 clips\n#### 72", "72"),
    ("72", "Natalia sold 24 clips in May.\n#### 72"),
    ("<answer> 12 </answer>, not 13", "12"),
    (r"\boxed{12} and then 13", "12"),
    (r"\boxed{1} or \boxed{\text{about } 12}, 13", "12"),
]


@pytest.mark.parametrize(("reply", "answer"), SIGNS + FORMS + MARKED)
def test_equal_numbers_are_right(reply, answer):
    assert status(reply, answer) == "right"


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("so the answer is 17", "-17"),
        ("0.0000021", "0.000002"),
        ("1e-7", "0"),
        ("1234567.9", "1234567.8"),
        ("1000001", "1000000"),
        ("2^5", "2"),
        ("10²", "10"),
        ("5^{\\left(5^{5}\\right)}", "3"),
        ("the answer is 5, not 6", "5"),
        (r"\boxed{13}, I mean 12", "12"),
    ],
)
def test_different_numbers_are_wrong(reply, answer):
    assert status(reply, answer) == "wrong"


@pytest.mark.parametrize("reply", ["", "no idea", "H2O", "x^2", r"\boxed{}", "1/0", "42 or " + "9" * 5000])
def test_a_reply_without_a_readable_last_number_has_no_answer(reply):
    assert status(reply, "42") == "no_answer"


@pytest.mark.parametrize(
    "answer", [0.1 + 0.2, Fraction(3, 10), np.float64(0.3), "0.30000", Decimal("0.3"), ["7", "0.3"][1]]
)
def test_an_answer_may_be_any_kind_of_number(answer):
    assert status("0.3", answer) == "right"


def test_rounded_decimals_are_equal_to_the_digits_both_state():
    assert status("0.333333333", "1/3") == "right"
    assert status("0.3333", "1/3") == "wrong"
    assert status("0.142857", 1 / 7) == "right"


@settings(max_examples=100, deadline=None)
@given(
    st.integers(-(10**12), 10**12), st.sampled_from(["{:d}", "{:,d}", "so it is {:d}.", r"\boxed{{{:,d}}}", "= {:d}$"])
)
def test_integers_are_read_back_exactly(number, form):
    assert last_number(form.format(number)).value == number


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_no_text_is_too_strange(text):
    assert NumericMatch().check(text, ["1"]).status in ("right", "wrong", "no_answer")


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "reply",
    [
        "9" * 200_000,
        "1," * 100_000,
        "1e99999999999",
        "1e-400" + "0" * 5,
        "9^9^9^9",
        "3 x 10^999999999",
        r"\boxed{" * 20_000,
        "<answer>" * 20_000,
        " " * 200_000,
        "1 " * 100_000,
        r"\frac{1" * 20_000,
        "2^" * 100_000,
        "x^{" * 50_000,
        "1/" * 100_000,
        "####" * 50_000,
    ],
)
def test_no_reply_takes_long(reply):
    start = time.process_time()  # of this process alone, whatever else the machine does
    NumericMatch().check(reply, ["1"])
    assert time.process_time() - start < 2


def test_scores_and_verdicts_come_in_order():
    found = scores(NumericMatch(), group(["it is 4", "what?", "5"], answer="4"))
    assert [score.value for score in found] == [1.0, 0.0, 0.0]
    assert [score.verdict.extracted for score in found] == ["4", None, "5"]
    assert [score.verdict.status for score in found] == ["right", "no_answer", "wrong"]


def test_an_answer_that_is_no_number_is_a_failure_without_a_value():
    (score,) = scores(NumericMatch(), group(["4"], answer="four"))
    assert score.value is None
    assert score.verdict.status == "failed"


def test_one_of_several_answers_suffices():
    assert scores(NumericMatch(), group(["2"], answer=[1, 2]))[0].value == 1.0


def test_a_task_without_an_answer_is_a_fault_that_names_it():
    with pytest.raises(RewardFault, match=r"'numeric' on task 'row/3': no answer .*\['gold'\]"):
        scores(NumericMatch(), group(["2"], task_id="row/3", gold="2"))
