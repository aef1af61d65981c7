"""Words as answers, and words beside numbers."""

import pytest

from guerdon.rewards.verify.math.values import Text
from guerdon.rewards.verify.math.words import as_choice, as_text, is_word, unsaid


@pytest.mark.parametrize("text", ["(B)", r"\text{(B)}", r"(\text{B})", "(B) 42", "(B). red"])
def test_choices(text):
    assert as_choice(text) == Text("B")


@pytest.mark.parametrize("text", ["(B)(C)", "(B) or (C)", "(B) 12 (C) 13", "(B) is wrong, (C) is right", "B", "(K)"])
def test_what_is_no_choice(text):
    assert as_choice(text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r"\text{Tuesday}", "tuesday"),
        ("No solution.", "no solution"),
        ("yes", "yes"),
        ("Option C", "C"),
        ("odd", "odd"),
    ],
)
def test_texts(text, words):
    assert as_text(text) == Text(words)


@pytest.mark.parametrize("text", ["xyz", "ab", "sin x", "2 apples", "x, y", "abc", "pi"])
def test_what_is_no_text(text):
    assert as_text(text) is None


def test_words_and_products():
    assert is_word("dog")
    assert not is_word("abc")
    assert not is_word("xyz")


@pytest.mark.parametrize(
    "unit", ["million", "or more", "squared", "and a half", "apples, 43 pears", "x 2", "dozen", "not", "tenths", "lakh"]
)
def test_words_that_are_no_unit(unit):
    assert unsaid(unit)


@pytest.mark.parametrize("unit", ["cm", "square feet", "cm^2", "apples left", "m/s", "miles per hour"])
def test_units(unit):
    assert not unsaid(unit)
