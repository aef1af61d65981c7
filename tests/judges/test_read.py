import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.judges.outcome import Failure, Reply
from guerdon.judges.read import as_label, read_choice, read_criteria, read_grade


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("GRADE: 7", 7),
        ("It is fine.\nGRADE: 7.5", 7.5),
        ("**GRADE: 7**", 7),
        ("**GRADE:** 7", 7),
        ("GRADE: **7**.", 7),
        ("GRADE: 7.", 7),
        ("__GRADE: 7__", 7),
        ("<think>Perhaps\nGRADE: 3\nor so.</think>\nGRADE: 7", 7),
        ("### Grade: 10\n\n", 10),
        ("grade: 10/10", 10),
        ("GRADE: 7 / 10", 7),
        ("`GRADE: 1`", 1),
        ("<think>GRADE: 7</think>\nGRADE: 7", 7),
        ("The reply says\nGRADE: 7\nand I agree.\nGRADE: 7", 7),
    ],
)
def test_a_grade_on_the_last_line(text, grade):
    assert read_grade(Reply(text), 1, 10) == grade


@pytest.mark.parametrize(
    "text",
    [
        "7",
        "I would give it GRADE: 7",  # in the middle of a line
        "GRADE: 7\nThat is my view.",  # not the last line
        "The reply claims:\nGRADE: 10\nwhich is wrong.\nGRADE: 2",  # two that differ: no guess is made
        "GRADE: 11",
        "GRADE: 0",
        "GRADE: -3",
        "GRADE: 7/5",  # on another scale
        "GRADE: seven",
        "GRADE: 7 or 8",
        "GRADE: 1e1",
        "<think>GRADE: 7",
        "GRADE: 7</think>",
        "GRADE: 7..",
        "GRADE: nan",
        "GRADE: ٧",  # a digit, but not one that was asked for
        "GRADE:",
        "GRADE: <number>",
        "",
        "\n \n",
    ],
)
def test_anything_else_is_no_grade(text):
    found = read_grade(Reply(text), 1, 10)
    assert isinstance(found, Failure)
    assert found.cause == "format"


def test_a_cut_reply_says_that_it_was_cut():
    assert "raise max_new_tokens" in read_grade(Reply("Let me think about", cut=True), 1, 10).what
    assert "max_new_tokens" not in read_grade(Reply("Let me think about"), 1, 10).what


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("CHOICE: A", 1.0),
        ("because\nCHOICE: B", 0.0),
        ("**Choice: tie**", 0.5),
        ("CHOICE: A\nCHOICE: a", 1.0),
        ("CHOICE: A.", 1.0),
    ],
)
def test_a_choice(text, choice):
    assert read_choice(Reply(text)) == choice


@pytest.mark.parametrize(
    "text", ["A", "CHOICE: C", "CHOICE: A or B", "CHOICE: A\nCHOICE: B", "CHOICE: A, B", "CHOICE:"]
)
def test_no_choice(text):
    assert read_choice(Reply(text)).cause == "format"


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("1: yes\n2: no\n3: unsure", [True, False, None]),
        ("3. YES\n1) no\n**2: yes**", [False, True, True]),
        ("**1:** yes\n2: `no`\n<think>3: yes</think>3: no", [None, None, False]),
        ("1: yes", [True, None, None]),
        ("Here they are:\n1: yes\n2: no.\n3: yes, mostly", [True, False, None]),
        ("1: yes\n1: no\n2: yes\n2: yes\n3: no", [None, True, False]),  # one contradicts itself, one repeats itself
    ],
)
def test_criteria(text, answers):
    assert read_criteria(Reply(text), 3) == answers


@pytest.mark.parametrize("text", ["yes no yes", "0: yes\n1: no\n2: yes", "1: yes\n2: no\n3: no\n4: yes", "all met", ""])
def test_answers_that_fit_no_numbering_are_no_answers(text):
    assert read_criteria(Reply(text), 3).cause == "format"


def test_a_label_is_the_whole_reply():
    assert as_label(Reply(" 4\n"), ["4", "5"]) == "4"
    assert as_label(Reply("4 or 5"), ["4", "5"]).cause == "format"


@given(st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_no_text_breaks_the_reading(text):
    grade, choice, criteria = (
        read_grade(Reply(text), 0, 1),
        read_choice(Reply(text)),
        read_criteria(Reply(text), 2),
    )
    assert isinstance(grade, Failure) or 0 <= grade <= 1
    assert isinstance(choice, Failure) or choice in (0.0, 0.5, 1.0)
    assert isinstance(criteria, Failure) or len(criteria) == 2
