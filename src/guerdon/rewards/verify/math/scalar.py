"""Whether two expressions are equal: exactly where they are rational, else by their values to many digits.

Rational functions are compared by exact values at random points, which for expressions of this size is a proof up to a
probability below 10^-12; what has roots or functions by values to 130 digits at points of both signs. A variable is a
real number, and where one side is defined on a stretch of the line and the other is not (ln x^2 and 2 ln x), they differ.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from guerdon.rewards.verify.math.exact import NotRationalError, UndefinedError, at, fold
from guerdon.rewards.verify.math.values import INFINITY, MINUS_ONE, CannotTellError, Node, Num, mentions, names, times

DIGITS_STATED = 5
"""Significant digits that a decimal needs to stand for an exact number of which it is the correct rounding."""

_POINTS = 14
_ENOUGH = 4
"""Points at which both sides have a value, for a verdict."""

_MAX_VARIABLES = 12

Point = Mapping[str, Fraction]
Evaluate = Callable[[Node, Point], Any]


def equal(a: Node, b: Node) -> bool:
    """Whether two expressions are equal. CannotTellError where that is not decided."""
    a, b = fold(a), fold(b)
    if mentions(a, "oo") or mentions(b, "oo"):
        return _infinity(a) is not None and _infinity(a) == _infinity(b)
    if isinstance(a, Num) and isinstance(b, Num):
        return numbers_equal(a, b)
    if not (names(a) | names(b)):
        return _constants_equal(a, b)
    return all(same(left, right) for left, right, same in both_at(a, b))


def infinite(node: Node) -> bool:
    return _infinity(fold(node)) is not None


def _infinity(node: Node) -> int | None:
    """1 or -1 for plus or minus infinity, None for anything else."""
    signs = {INFINITY: 1, times(MINUS_ONE, INFINITY): -1}
    return signs.get(node)


def numbers_equal(a: Num, b: Num) -> bool:
    """Exact numbers are equal when they are the same. A decimal stands for another number when it is its correct
    rounding in at least DIGITS_STATED digits; of two decimals, the one with fewer digits is the rounded one."""
    if a.value == b.value:
        return True
    rounded = [number for number in (a, b) if number.decimals is not None and number.value.denominator != 1]
    if not rounded:
        return False
    coarse = min(rounded, key=lambda number: number.decimals or 0)
    other = b if coarse is a else a
    fine = other.decimals is None or other.value.denominator == 1 or (other.decimals > (coarse.decimals or 0))
    return fine and _rounds(other.value, coarse)


def _rounds(value: Any, decimal: Num) -> bool:
    """Whether the decimal states enough digits and lies within half its last place of the value."""
    unit = Fraction(1, 10 ** (decimal.decimals or 0))
    stated = len(str(abs(decimal.value / unit).numerator)) >= DIGITS_STATED
    return stated and abs(value - decimal.value) <= unit / 2


def _constants_equal(a: Node, b: Node) -> bool:
    from guerdon.rewards.verify.math import approx

    try:
        left, right = approx.value(a, {}, real=False), approx.value(b, {}, real=False)
    except UndefinedError as error:
        raise CannotTellError(str(error)) from None
    for decimal, exact in ((a, right), (b, left)):
        if isinstance(decimal, Num) and decimal.decimals is not None and decimal.value.denominator != 1:
            rational = approx.rational(exact)
            return rational is not None and _rounds(rational, decimal)
    return approx.same(left, right)


def both_at(a: Node, b: Node) -> Iterator[tuple[Any, Any, Callable[[Any, Any], bool]]]:
    """The values of two expressions at points where both have one, and how to compare them.

    CannotTellError when there are too few such points, or one is defined where the other is not for no value to differ.
    """
    variables = sorted(names(a) | names(b))
    if len(variables) > _MAX_VARIABLES:
        raise CannotTellError(f"{len(variables)} variables")
    try:
        yield from _pairs(a, b, at, _exactly, _integers(variables))
    except NotRationalError:
        from guerdon.rewards.verify.math import approx

        real = not (mentions(a, "i") or mentions(b, "i"))

        def evaluate(node: Node, point: Point) -> Any:
            return approx.value(node, point, real)

        yield from _pairs(a, b, evaluate, approx.same, _reals(variables))


def _exactly(a: Any, b: Any) -> bool:
    return bool(a == b)


def _pairs(
    a: Node, b: Node, evaluate: Evaluate, same: Callable[[Any, Any], bool], points: Iterator[Point]
) -> Iterator[Any]:
    defined = 0
    for point in points:
        left, right = _maybe(evaluate, a, point), _maybe(evaluate, b, point)
        if left is None and right is None:
            continue
        if left is None or right is None:
            yield 0, 1, _exactly
            return
        defined += 1
        yield left, right, same
    if defined < _ENOUGH:
        raise CannotTellError("an expression that has no value at most points")


def _maybe(evaluate: Evaluate, node: Node, point: Point) -> Any:
    try:
        return evaluate(node, point)
    except UndefinedError:
        return None


def _integers(variables: list[str]) -> Iterator[Point]:
    chance = random.Random("guerdon exact")
    for index in range(_POINTS):
        low, high = ((2, 10**6), (-(10**6), -2))[index % 2] if index < 6 else (-(10**6), 10**6)
        yield {name: Fraction(chance.randint(low, high), chance.choice((1, 1, 7, 12))) for name in variables}


def _reals(variables: list[str]) -> Iterator[Point]:
    """Between 0 and 1, larger, negative, mixed, and whole numbers, for what is defined only there."""
    chance = random.Random("guerdon real")
    for index in range(_POINTS):
        low, high = ((1, 1000), (1010, 5000), (-1000, -1), (-3000, 3000), (1, 1000))[index % 5]
        scale = 1 if index >= 10 else 1009
        low, high = (1, 9) if scale == 1 else (low, high)
        yield {name: Fraction(chance.randint(low, high), scale) for name in variables}
