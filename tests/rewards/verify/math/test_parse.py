"""Whole answers as typed values, or a refusal; never a part."""

from fractions import Fraction

import pytest

from guerdon.rewards.verify.math.parse import parse
from guerdon.rewards.verify.math.scalar import equal
from guerdon.rewards.verify.math.values import (
    Based,
    Bracket,
    CannotTellError,
    Matrix,
    Num,
    Quantity,
    Relation,
    SetOf,
    Text,
    Union,
)


def number(value):
    return Quantity(Num(Fraction(value)))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", number(5)),
        ("1,234", number(1234)),
        ("2 1/2", number("5/2")),
        ("3e5", number(300000)),
        (r"0.\overline{3}", number("1/3")),
        ("12_8", Based("12", "8")),
        ("1A_{16}", Based("1A", "16")),
        ("(1,2)", Bracket("(", (number(1), number(2)), ")")),
        ("[1,234)", Bracket("[", (number(1), number(234)), ")")),
        (r"\{1,2\}", SetOf((number(1), number(2)), braces=True)),
        ("1 and 2", SetOf((number(1), number(2)))),
        (r"\{\}", SetOf((), braces=True)),
        ("x = 5", Relation((parse("x"), number(5)), ("=",))),
        ("red", Text("red")),
        ("5 cm", Quantity(Num(Fraction(5)), "cm")),
        (r"\$5", Quantity(Num(Fraction(5)), "$")),
        (r"50%", Quantity(Num(Fraction(50)), "%")),
        (r"90^\circ", Quantity(Num(Fraction(90)), "degree")),
    ],
)
def test_values(text, value):
    assert parse(text) == value


def test_compound_values():
    assert isinstance(parse(r"(1,2) \cup [3,4]"), Union)
    matrix = parse(r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}")
    assert isinstance(matrix, Matrix)
    assert matrix.rows == ((number(1), number(2)), (number(3), number(4)))
    both = parse(r"1 \pm \sqrt{7}")
    assert isinstance(both, SetOf)
    assert len(both.items) == 2


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "3 5",
            "x 2",
            "1/2x",
            r"\sin(x)^2",
            "(1,2",
            "1,2)",
            r"\frac{1}",
            r"\frac{1}{2",
            "2^",
            "5 +",
            "1, ",
            "||x||",
        ),
        *(
            r"\pm 1 \pm 2",
            r"\mystery",
            "5 #",
            "1, 2, ...",
            "2 3/2",
            r"x^2^3",
            "3!!",
            r"\begin{pmatrix}1&2\\3\end{pmatrix}",
        ),
        *("5 cm 6", "at least 5", r"5\text{ or more}", "(1,2)^2", r"\int_0^1 x", "[5", "(" * 200 + "1" + ")" * 200),
    ],
)
def test_what_is_not_understood_whole_is_refused(text):
    with pytest.raises(CannotTellError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("-x^2", "-(x^2)"),
        ("2^{-1}x", "x/2"),
        ("x^10", "x^{10}"),
        (r"\frac12x", r"\frac{x}{2}"),
        (r"2\frac12", "5/2"),
        (r"2\frac{x}{3}", r"\frac{2x}{3}"),
        ("3/4/5", "3/20"),
        (r"\sin^2 x", r"(\sin x)(\sin x)"),
        (r"\sin 2x", r"\sin(2x)"),
        (r"\sin x \cos x", r"\cos(x)\sin(x)"),
        (r"\sqrt[3]{8}", "2"),
        (r"|{-3}|", "3"),
        (r"\log_2 8", "3"),
        (r"\binom{5}{2}", "10"),
        (r"\sum_{k=1}^{4} k^2", "30"),
        (r"\prod_{k=1}^4 k", "24"),
        ("3x10^5", "300000"),
        ("pi/2", r"\frac{\pi}{2}"),
        ("sqrt(2)", r"\sqrt2"),
        ("5!", "120"),
        (r"42\text{ million}", "42000000"),
    ],
)
def test_precedence(text, same):
    first, second = parse(text), parse(same)
    assert isinstance(first, Quantity)
    assert isinstance(second, Quantity)
    assert equal(first.node, second.node)
