"""Answers in running text: taken where they are said plainly, and only there."""

import pytest

from guerdon.rewards.verify.math.prose import has_words, last_answer, stated


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("There are 12 eggs.", "12"),
        ("So 3*4=12 left", "12"),
        ("It costs $1,250.", "1,250"),
        ("pages 5-17", "17"),
        ("It fell to -17 degrees", "-17"),
        ("That leaves 3/4 cups", "3/4"),
    ],
)
def test_numbers_said_plainly(text, number):
    assert last_answer(text) == (number, "number")


@pytest.mark.parametrize(
    "text",
    [
        *("not 42", "below 43", "between 42 and 43", "I guess 42", "41, 42", "40 41 42", "half of 42", "is it 42?"),
        *("print(42)", "eval('42')", "solve x-42", "there are 42x of them", "we get 3*42 apples", "so x > 42 here"),
        *(
            r"so \begin{pmatrix} 1 \\ 2 \end{pmatrix} here",
            "about 42 apples",
            "twice 42",
            "it is 1 over 42 here",
            "it is 42 pi units",
            "negative 42 is it",
            "42 lakh then",
            "it has 42! ways",
        ),
    ],
)
def test_numbers_that_are_not(text):
    assert last_answer(text) is None


def test_mathematics_comes_before_numbers():
    assert last_answer("We get $2\\sqrt{3}$ in step 4.") == (r"2\sqrt{3}", "dollars")
    assert last_answer("It is not $2$") is None


def test_what_begins_after_the_phrase():
    assert stated("equal to 42, since 6 times 7 is 42") is None, "hedged by 'times'"
    assert stated("equal to 42, as was to be shown") == "42"
    assert stated("half of 42") is None
    assert stated("$x^2$ as before") == "x^2"
    assert stated("$x$ or $y$") is None


def test_words_are_not_commands():
    assert has_words("pages 5")
    assert not has_words(r"\frac{1}{2}\text{ apples}")
