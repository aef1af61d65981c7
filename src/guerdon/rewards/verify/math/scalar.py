"""Whether two expressions are equal: exactly where they are rational, else by their values to many digits.

Rational functions are compared by exact values at random points, which for expressions of this size is a proof up to a
probability below 10^-12; what has roots or functions by values to many digits at points of both signs. A variable is a
real number; where one side is defined on a stretch of the line and the other is not (ln x^2, 2 ln x), they differ.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from guerdon.rewards.verify.math.exact import NotRationalError, UndefinedError, at, fold, size
from guerdon.rewards.verify.math.values import (
    INFINITY,
    MINUS_ONE,
    CannotTellError,
    Node,
    Num,
    leaves,
    mentions,
    names,
    times,
)

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


NEAR = Fraction(1, 100)
"""Relative gap up to which one constant may be called approximately another."""


def close(a: Node, b: Node) -> bool:
    """Whether two constants are within NEAR of each other; False where either has a variable."""
    from guerdon.rewards.verify.math import approx

    if names(a) | names(b):
        return False
    try:
        left, right = (approx.value(fold(node), {}, real=False) for node in (a, b))
    except UndefinedError:
        return False
    return bool(abs(left - right) * NEAR.denominator <= max(abs(left), abs(right)))


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
        precision = approx.digits(a, b)
        left, right = (approx.value(node, {}, real=False, precision=precision) for node in (a, b))
    except UndefinedError as error:
        raise CannotTellError(str(error)) from None
    for decimal, exact in ((a, right), (b, left)):
        if isinstance(decimal, Num) and decimal.decimals is not None and decimal.value.denominator != 1:
            rational = approx.rational(exact)
            return rational is not None and _rounds(rational, decimal)
    return approx.same(left, right, precision)


def both_at(a: Node, b: Node) -> Iterator[tuple[Any, Any, Callable[[Any, Any], bool]]]:
    """The values of two expressions at points where both have one, and how to compare them.

    CannotTellError when there are too few such points, or one is defined where the other is not for no value to differ.
    """
    variables = sorted(names(a) | names(b))
    if len(variables) > _MAX_VARIABLES:
        raise CannotTellError(f"{len(variables)} variables")
    special = _special(a, b)
    try:
        yield from _pairs(a, b, at, _exactly, [*_integers(variables), *_near(variables, special)])
    except NotRationalError:
        from guerdon.rewards.verify.math import approx

        precision = approx.digits(a, b)
        real = not (mentions(a, "i") or mentions(b, "i"))

        def evaluate(node: Node, point: Point) -> Any:
            return approx.value(node, point, real, precision)

        def same(left: Any, right: Any) -> bool:
            return approx.same(left, right, precision)

        yield from _pairs(a, b, evaluate, same, [*_reals(variables), *_near(variables, special)])


def _exactly(a: Any, b: Any) -> bool:
    return bool(a == b)


def _pairs(
    a: Node, b: Node, evaluate: Evaluate, same: Callable[[Any, Any], bool], points: list[Point]
) -> Iterator[tuple[Any, Any, Callable[[Any, Any], bool]]]:
    defined = 0
    for index, point in enumerate(points):
        try:
            left, right = _maybe(evaluate, a, point), _maybe(evaluate, b, point)
        except CannotTellError:
            if index < _POINTS:
                raise
            continue
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


_RANGES = ((2, 10**6), (-(10**6), -2), (1, 20), (-20, -1), (-(10**6), 10**6))


def _integers(variables: list[str]) -> Iterator[Point]:
    chance = random.Random("guerdon exact")
    for index in range(_POINTS):
        low, high = _RANGES[index % len(_RANGES)]
        yield {name: Fraction(chance.randint(low, high), chance.choice((1, 1, 7, 12))) for name in variables}


def _reals(variables: list[str]) -> Iterator[Point]:
    """Between 0 and 1, larger, negative, mixed, and whole numbers, for what is defined only there."""
    chance = random.Random("guerdon real")
    ranges = ((1, 1000), (1010, 5000), (-1000, -1), (-5000, -1010), (-3000, 3000))
    for index in range(_POINTS):
        (low, high), scale = (ranges[index % 5], 1009) if index < 10 else ((1, 9), 1)
        yield {name: Fraction(chance.randint(low, high), scale) for name in variables}


_MAX_SPECIAL = 6


def _special(a: Node, b: Node) -> list[Fraction]:
    """The constants in two expressions, the largest first: where what has bars or steps may change."""
    found = {abs(leaf.value) for node in (a, b) for leaf in leaves(node) if isinstance(leaf, Num)}
    return sorted((value for value in found if value > 2 and size(value) < 400), reverse=True)[:_MAX_SPECIAL]


def _near(variables: list[str], special: list[Fraction]) -> Iterator[Point]:
    """Points below and above the constants of either sign, and beyond them all."""
    chance = random.Random("guerdon near")
    for value in special:
        for factor in (Fraction(97, 100), Fraction(103, 100), Fraction(-103, 100), Fraction(3), Fraction(-3)):
            yield {name: value * factor + Fraction(chance.randint(1, 9), 10**4) for name in variables}
