"""Exact arithmetic, and its bounds."""

from fractions import Fraction

import pytest

from guerdon.rewards.verify.math.exact import UndefinedError, apply, at, fold, size
from guerdon.rewards.verify.math.parse import parse
from guerdon.rewards.verify.math.values import CannotTellError, Num


def folded(text):
    return fold(parse(text).node)


def test_numbers_are_exact():
    assert folded(r"\frac{1}{3}+\frac{1}{6}") == Num(Fraction(1, 2))
    assert folded("0.1+0.2") == Num(Fraction(3, 10))
    assert folded(r"\sqrt{\frac{4}{9}}") == Num(Fraction(2, 3))
    assert folded("8^{2/3}") == Num(Fraction(4))
    assert folded(r"\sqrt[3]{-27}") == Num(Fraction(-3))


def test_decimals_keep_their_digits_under_signs_and_powers_of_ten():
    assert folded("-1.250") == Num(Fraction(-5, 4), 3)
    assert folded(r"2.50 \cdot 10^{-3}") == Num(Fraction(1, 400), 5)
    assert folded(r"2.5 \cdot 10^{3}") == Num(Fraction(2500))
    assert folded(r"2.5 \cdot 3") == Num(Fraction(15, 2))


@pytest.mark.parametrize(
    "text", ["9^{9^{9^9}}", "10^{10^6}", "100000!", r"\binom{10^9}{5}", r"2^{2^{40}}", r"2^{-2^{40}}"]
)
def test_what_would_be_too_large_is_not_computed(text):
    with pytest.raises(CannotTellError):
        folded(text)


def test_no_value():
    with pytest.raises(CannotTellError):
        folded(r"\frac{1}{0}")
    with pytest.raises(UndefinedError):
        apply("pow", [Fraction(0), Fraction(0)])


def test_values_at_a_point():
    assert at(parse("x^2-2y").node, {"x": Fraction(3), "y": Fraction(1, 2)}) == 8


def test_size_counts_bits():
    assert size(Fraction(8, 3)) == 6
