"""What relations say, and when two say the same."""

import pytest

from guerdon.rewards.verify.math.compare import compare
from guerdon.rewards.verify.math.normal import normal
from guerdon.rewards.verify.math.parse import parse
from guerdon.rewards.verify.math.relation import said
from guerdon.rewards.verify.math.values import CannotTellError

SAME = [
    ("y=2x+3", "2x-y+3=0"),
    ("3=x", "x=3"),
    ("x>2", "2<x"),
    ("2x>6", "x>3"),
    ("-x<-3", "x>3"),
    ("2<x<=3", "(2,3]"),
    ("x=2 or x=3", "3, 2"),
    ("x=2,3", r"\{2,3\}"),
    ("x_1=2, x_2=3", "3, 2"),
    ("x=1,y=2", "y=2,x=1"),
    (r"x=\pm 2", "-2, 2"),
    ("x<2 or x>3", r"(-\infty,2)\cup(3,\infty)"),
    (r"x \ne 5", r"(-\infty,5)\cup(5,\infty)"),
    ("|x|<5", "(-5,5)"),
    ("x = 10/4 = 2.5", "5/2"),
    (r"x = \sqrt{2} \approx 1.41", r"\sqrt{2}"),
    ("2+3=5", "5"),
    ("(x,y)=(1,2)", "(1,2)"),
    (r"\{x \mid x>2\}", "x>2"),
]
DIFFERENT = [
    ("2x+y-3=0", "x+y-5=0"),
    ("x=5", "y=5"),
    ("x=5", "5=5"),
    ("y=x", "0=0"),
    ("x>2", "x>=2"),
    ("2x>6", "2x<6"),
    ("x+y>1", "-x-y>-1"),
    ("x=1,y=2", "x=2,y=1"),
    ("x=1,y=2", "1,2"),
    ("a_1=2,a_2=3", "a_1=3,a_2=2"),
    ("x^2=4", "x=2"),
    ("9", "x^2=9"),
    ("5", "-x=5"),
    ("(x,y)=(1,2)", "(y,x)=(1,2)"),
    ("x<2 or x>3", "(2,3)"),
    ("y=2x+3", "y-2x-3"),
    ("x(y-2x-3)=0", "y=2x+3"),
]


def same(first, second):
    return compare(parse(normal(first)), parse(normal(second)))[0]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_the_same(first, second):
    assert same(first, second)
    assert same(second, first)


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_different(first, second):
    assert not same(first, second)
    assert not same(second, first)


def test_a_chain_that_contradicts_itself_is_not_compared():
    with pytest.raises(CannotTellError):
        same("x=42=43", "42")
    with pytest.raises(CannotTellError):
        same(r"42 \approx 43", "42")


def test_labels():
    assert said(parse("x=5")).label == "x"
    assert said(parse("AB=7")).label == "AB"
    assert said(parse("x=x^2")).label == ""
