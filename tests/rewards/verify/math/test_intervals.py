"""Unions in one form."""

import pytest

from guerdon.rewards.verify.math.compare import compare
from guerdon.rewards.verify.math.intervals import merged
from guerdon.rewards.verify.math.parse import parse


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (r"(0,1)\cup(0.5,2)", "(0,2)"),
        (r"[1,2]\cup[2,3]", "[1,3]"),
        (r"[0,1]\cup(1,2]", "[0,2]"),
        (r"(1,2)\cup\{2\}", "(1,2]"),
        (r"(3,4)\cup(1,2)", r"(1,2)\cup(3,4)"),
        (r"\mathbb{R}\setminus\{0\}", r"(-\infty,0)\cup(0,\infty)"),
        (r"[-\infty,2]", r"(-\infty,2]"),
    ],
)
def test_the_same_set(first, second):
    assert compare(parse(first), parse(second))[0]
    assert compare(parse(second), parse(first))[0]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (r"(1,2)\cup(2,3)", "(1,3)"),
        ("(1,2)", "(1,2]"),
        (r"(1,2)\cup(3,4)", r"(1,2)\cup(3,5)"),
        (r"\mathbb{R}", r"(0,\infty)"),
    ],
)
def test_another_set(first, second):
    assert not compare(parse(first), parse(second))[0]


def test_irrational_ends_stay_as_written():
    union = parse(r"(0,\pi)\cup(4,5)")
    assert merged(union) == union
