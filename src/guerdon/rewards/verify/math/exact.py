"""Exact arithmetic on expressions: rational numbers folded with their size bounded before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from guerdon.rewards.verify.math.values import Apply, CannotTellError, Const, Name, Node, Num

MAX_BITS = 60_000
"""Bits of a number that is computed; what would be larger cannot be told."""

MAX_FACTORIAL = 4_000


class NotRationalError(Exception):
    """The expression at this point is no rational number that can be computed exactly."""


class UndefinedError(Exception):
    """The expression has no value at this point: a division by zero, a root of a negative number."""


def fold(node: Node) -> Node:
    """The expression with every rational part computed.

    A decimal stays one with its digits where it is only negated or multiplied by a power of ten; other arithmetic with
    decimals is exact. CannotTellError where a number would be too large or has no value (a division by zero).
    """
    if not isinstance(node, Apply):
        return node
    args = tuple(fold(arg) for arg in node.args)
    try:
        decimal = _decimal(node.head, args)
        if decimal is not None:
            return decimal
        numbers = [arg.value for arg in args if isinstance(arg, Num)]
        if len(numbers) == len(args):
            return Num(apply(node.head, numbers))
    except NotRationalError:
        pass
    except UndefinedError as error:
        raise CannotTellError(str(error)) from None
    return _gathered(Apply(node.head, args))


def _gathered(node: Apply) -> Node:
    """Nested sums and products in one, their numbers computed together."""
    if node.head not in ("add", "mul"):
        return node
    flat: list[Node] = []
    for arg in node.args:
        flat += arg.args if isinstance(arg, Apply) and arg.head == node.head else [arg]
    numbers = [arg.value for arg in flat if isinstance(arg, Num)]
    rest = [arg for arg in flat if not isinstance(arg, Num)]
    if len(numbers) < 2 or _infinite(rest):
        return Apply(node.head, tuple(flat))
    return Apply(node.head, (Num(apply(node.head, numbers)), *rest))


def _infinite(nodes: Sequence[Node]) -> bool:
    return any(isinstance(node, Const) and node.name == "oo" for node in nodes)


def _decimal(head: str, args: tuple[Node, ...]) -> Num | None:
    """A decimal times powers of ten and signs, its digits moved with the point; None where it is anything else."""
    if head != "mul" or not all(isinstance(arg, Num) for arg in args):
        return None
    numbers = [arg for arg in args if isinstance(arg, Num)]
    decimals = [number for number in numbers if number.decimals is not None]
    if len(decimals) != 1:
        return None
    shift, value = 0, decimals[0].value
    for number in numbers:
        if number is decimals[0]:
            continue
        tens = _tens(abs(number.value))
        if tens is None:
            return None
        shift, value = shift + tens, value * number.value
    places = (decimals[0].decimals or 0) - shift
    return Num(value, places if places > 0 else None)


def _tens(value: Fraction) -> int | None:
    """The k with value = 10^k, None where there is none."""
    for number, sign in ((value.numerator, 1), (value.denominator, -1)):
        if number != 1:
            text_length = int(number.bit_length() * math.log10(2)) + 1
            for digits in (text_length - 1, text_length):
                if value == Fraction(10) ** (sign * digits):
                    return sign * digits
            return None
    return 0


def at(node: Node, point: Mapping[str, Fraction]) -> Fraction:
    """The expression's exact value where the variables have these values.

    NotRationalError where it has roots or functions, UndefinedError where it has no value there.
    """
    if isinstance(node, Num):
        return node.value
    if isinstance(node, Name):
        return point[node.name]
    if isinstance(node, Const):
        raise NotRationalError
    return apply(node.head, [at(arg, point) for arg in node.args])


def apply(head: str, args: list[Fraction]) -> Fraction:
    """One operation on rational numbers. NotRationalError, UndefinedError or CannotTellError (too large) else."""
    if head == "add":
        return _total(args)
    if head == "mul":
        return _product(args)
    if head == "pow":
        return _power(*args)
    if head == "root":
        return _root(*args)
    if head == "percent":
        return args[0] / 100
    if head == "abs":
        return abs(args[0])
    if head in ("floor", "ceil"):
        return Fraction(math.floor(args[0]) if head == "floor" else math.ceil(args[0]))
    if head == "factorial":
        return Fraction(_factorial(args[0]))
    if head == "binom":
        return _binomial(*args)
    if head in ("gcd", "lcm") and all(arg.denominator == 1 for arg in args):
        whole = [arg.numerator for arg in args]
        return Fraction(math.gcd(*whole) if head == "gcd" else math.lcm(*whole))
    if head in ("max", "min"):
        return max(args) if head == "max" else min(args)
    raise NotRationalError


def _total(args: list[Fraction]) -> Fraction:
    total = Fraction(0)
    for arg in args:
        if size(total) + size(arg) > MAX_BITS:
            raise CannotTellError("a number too large to compute")
        total += arg
    return total


def _product(args: list[Fraction]) -> Fraction:
    product = Fraction(1)
    for arg in args:
        if size(product) + size(arg) > MAX_BITS:
            raise CannotTellError("a number too large to compute")
        product *= arg
    return product


def size(value: Fraction) -> int:
    """Bits of a rational number."""
    return value.numerator.bit_length() + value.denominator.bit_length()


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1:
        if base < 0:
            raise NotRationalError
        if size(exponent) > 64:
            raise NotRationalError
        return _power(_root(base, Fraction(exponent.denominator)), Fraction(exponent.numerator))
    if base == 0:
        if exponent <= 0:
            raise UndefinedError("zero to a power that is not positive")
        return base
    if abs(base) == 1:
        return base if exponent.numerator % 2 else Fraction(1)
    if abs(exponent) * size(base) > MAX_BITS:
        raise CannotTellError("a power too large to compute")
    return base**exponent.numerator


def _root(base: Fraction, degree: Fraction) -> Fraction:
    """The real root where it is rational."""
    if degree.denominator != 1 or not 0 < degree.numerator < 1000:
        raise NotRationalError
    n = degree.numerator
    if base < 0 and n % 2 == 0:
        raise NotRationalError
    top, bottom = _whole_root(abs(base.numerator), n), _whole_root(base.denominator, n)
    return Fraction(-top if base < 0 else top, bottom)


def _whole_root(number: int, n: int) -> int:
    if n == 1 or number < 2:
        return number
    if n == 2:
        root = math.isqrt(number)
    else:
        root = 1 << -(-number.bit_length() // n)
        while (better := ((n - 1) * root + number // root ** (n - 1)) // n) < root:
            root = better
    if root**n != number:
        raise NotRationalError
    return root


def _factorial(value: Fraction) -> int:
    if value.denominator != 1 or value < 0:
        raise NotRationalError
    if value > MAX_FACTORIAL:
        raise CannotTellError("a factorial too large to compute")
    return math.factorial(value.numerator)


def _binomial(top: Fraction, bottom: Fraction) -> Fraction:
    if top.denominator != 1 or bottom.denominator != 1 or top < 0 or bottom < 0:
        raise NotRationalError
    if top > MAX_FACTORIAL:
        raise CannotTellError("a binomial coefficient too large to compute")
    return Fraction(math.comb(top.numerator, bottom.numerator))
