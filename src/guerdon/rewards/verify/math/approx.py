"""Values of expressions to many digits, where exact arithmetic does not reach: roots, logarithms, angles, complex.

Values are computed to 130 digits, and as many more as the numbers in the expressions have. Two that differ within the
first 70 of them are different, those that agree in all but the last 40 are taken as equal, and nothing in between is
decided. A sum whose terms cancel to the last digits is zero; one whose small terms would drown in its large ones, or a
function of a number so small that it would round, is refused: 1 + 10^-400 is never 1, nor is cos(10^-400).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import mpmath  # type: ignore[import-untyped]

from guerdon.rewards.verify.math.exact import UndefinedError, size
from guerdon.rewards.verify.math.values import Apply, CannotTellError, Const, Name, Node, Num, leaves

DIGITS = 130
_MAX_DIGITS = 4000
_MAX_POWER = 10**6
_MAX_ARGUMENT = mpmath.mpf(10) ** 25
_MIN_ARGUMENT = mpmath.mpf(10) ** -25


def digits(*nodes: Node) -> int:
    """The digits to which expressions are computed. CannotTellError where their numbers ask for too many."""
    bits = sum(size(leaf.value) for node in nodes for leaf in leaves(node) if isinstance(leaf, Num))
    needed = DIGITS + bits // 3
    if needed > _MAX_DIGITS:
        raise CannotTellError("numbers too large to compare by their digits")
    return needed


def _unit(places: int) -> Any:
    """One in the place that is this many before the last digit computed."""
    return mpmath.mpf(10) ** (places - mpmath.mp.dps)


def value(node: Node, point: Mapping[str, Fraction], real: bool, precision: int = DIGITS) -> Any:
    """The mpmath number of an expression where the variables have these values, to about `precision` digits.

    real: whether roots and logarithms of negative numbers are undefined (else their principal complex values).
    UndefinedError where it has none; CannotTellError where it is too large to compute.
    """
    with mpmath.workdps(precision):
        try:
            return _value(node, point, real)
        except (ZeroDivisionError, ValueError, OverflowError) as error:
            raise UndefinedError(str(error)) from None
        except mpmath.libmp.NoConvergence:
            raise CannotTellError("a value that cannot be computed") from None


def _value(node: Node, point: Mapping[str, Fraction], real: bool) -> Any:
    if isinstance(node, Num):
        return _number(node.value)
    if isinstance(node, Name):
        return _number(point[node.name])
    if isinstance(node, Const):
        if node.name == "oo":
            raise CannotTellError("arithmetic with infinity")
        return {"pi": +mpmath.pi, "e": +mpmath.e, "i": mpmath.mpc(0, 1)}[node.name]
    return _apply(node, [_value(arg, point, real) for arg in node.args], real)


def _number(number: Fraction) -> Any:
    return mpmath.mpf(number.numerator) / number.denominator


def _apply(node: Apply, args: list[Any], real: bool) -> Any:
    head = node.head
    if head == "add":
        return _sum(args)
    if head == "mul":
        return mpmath.fprod(args)
    if head == "pow":
        return _power(args[0], args[1], real)
    if head == "root":
        return _root(args[0], args[1], real)
    if head.startswith("call "):
        return _unknown(head, args[0])
    if head in ("floor", "ceil"):
        return _whole(head, args[0])
    if head in _FUNCTIONS:
        return _function(head, args, real)
    raise CannotTellError(f"{head} of something that is no whole number")


def _sum(args: list[Any]) -> Any:
    total, largest = mpmath.fsum(args), max(abs(arg) for arg in args)
    if abs(total) <= largest * _unit(30):
        return mpmath.mpf(0)
    if abs(total) <= largest * _unit(60) or any(0 < abs(arg) < largest * _unit(60) for arg in args):
        raise CannotTellError("terms too far apart to add")
    return total


def _power(base: Any, exponent: Any, real: bool) -> Any:
    if base == 0:
        if mpmath.re(exponent) <= 0:
            raise UndefinedError("zero to a power that is not positive")
        return mpmath.mpf(0)
    whole = mpmath.isint(exponent) if mpmath.im(exponent) == 0 else False
    if real and not whole and mpmath.re(base) < 0:
        raise UndefinedError("a negative number to a power that is not whole")
    logarithm = mpmath.log(abs(base))
    if abs(exponent) * (abs(logarithm) + 1) > _MAX_POWER:
        raise CannotTellError("a power too large to compute")
    if 0 < abs(exponent * logarithm) < _MIN_ARGUMENT:
        raise CannotTellError("a power too close to one")
    return mpmath.power(base, exponent)


def _root(base: Any, degree: Any, real: bool) -> Any:
    if not (mpmath.im(degree) == 0 and mpmath.isint(degree) and 0 < degree < 1000):
        return _power(base, 1 / degree, real)
    n = int(degree)
    if mpmath.im(base) == 0 and base < 0:
        if n % 2:
            return -mpmath.root(-base, n)
        if real:
            raise UndefinedError("an even root of a negative number")
    return mpmath.root(base, n)


def _whole(head: str, arg: Any) -> Any:
    """Rounded up or down; refused next to a whole number, where the last digit would decide."""
    if mpmath.im(arg) != 0 or abs(arg) > _MAX_ARGUMENT:
        raise CannotTellError(f"{head} of a number that is complex or too large")
    near = mpmath.nint(arg)
    if arg != near and abs(arg - near) < _unit(60):
        raise CannotTellError(f"{head} too close to a whole number")
    return mpmath.floor(arg) if head == "floor" else mpmath.ceil(arg)


def _unknown(head: str, arg: Any) -> Any:
    """A function of which only the name is known: some number that depends on the name and the argument alone."""
    seed = sum((place + 1) * ord(letter) for place, letter in enumerate(head))
    return mpmath.sin(seed * mpmath.sqrt(3) + arg * mpmath.sqrt(seed)) + mpmath.mpf(seed) / 7


def _log(arg: Any, *base: Any) -> Any:
    """Without a base, the logarithm to a base that is not said: it is neither ln nor log_10, and equal to itself."""
    if arg == 0:
        raise UndefinedError("the logarithm of zero")
    if not base:
        return mpmath.log(arg) * mpmath.sqrt(mpmath.mpf(11) / 7)
    if base[0] in (0, 1):
        raise UndefinedError(f"a logarithm to the base {int(base[0])}")
    return mpmath.log(arg) / mpmath.log(base[0])


def _ln(arg: Any) -> Any:
    if arg == 0:
        raise UndefinedError("the logarithm of zero")
    return mpmath.log(arg)


_FUNCTIONS = {
    "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan, "cot": mpmath.cot, "sec": mpmath.sec, "csc": mpmath.csc,
    "arcsin": mpmath.asin, "arccos": mpmath.acos, "arctan": mpmath.atan, "sinh": mpmath.sinh, "cosh": mpmath.cosh,
    "tanh": mpmath.tanh, "exp": mpmath.exp, "ln": _ln, "log": _log, "abs": abs, "factorial": mpmath.factorial,
    "percent": lambda arg: arg / 100, "degree": lambda arg: arg * mpmath.pi / 180, "binom": mpmath.binomial,
    "lg": _log, "max": lambda *args: max(args), "min": lambda *args: min(args),
}  # fmt: skip
_ARITY = {"log": (1, 2), "lg": (1, 2), "binom": (2, 2), "max": (1, 99), "min": (1, 99)}


_LIMITS = {"exp": _MAX_POWER, "sinh": _MAX_POWER, "cosh": _MAX_POWER, "tanh": 60, "factorial": 10**5, "binom": 10**5}


def _function(head: str, args: list[Any], real: bool) -> Any:
    least, most = _ARITY.get(head, (1, 1))
    if not least <= len(args) <= most:
        raise CannotTellError(f"{head} of {len(args)} arguments")
    large = max(abs(arg) for arg in args)
    if head not in ("ln", "log", "lg", "abs", "percent", "max", "min"):
        if large > _LIMITS.get(head, _MAX_ARGUMENT):
            raise CannotTellError(f"{head} of a number too large")
        if 0 < min(abs(arg) for arg in args) < _MIN_ARGUMENT and head != "degree":
            raise CannotTellError(f"{head} of a number too small")
    if real and head in ("ln", "log", "lg") and any(mpmath.re(arg) <= 0 for arg in args):
        raise UndefinedError("the logarithm of a number that is not positive")
    if real and head in ("arcsin", "arccos") and large > 1:
        raise UndefinedError(f"{head} of a number outside -1 to 1")
    if head in ("max", "min") and any(mpmath.im(arg) for arg in args):
        raise UndefinedError(f"{head} of complex numbers")
    result = _FUNCTIONS[head](*args)
    tiny = _unit(30)
    if head in ("sin", "cos", "tan", "cot", "sec") and abs(result) < tiny * max(1, large):
        return mpmath.mpf(0)
    if head in ("tan", "cot", "sec", "csc") and abs(result) > 1 / tiny:
        raise UndefinedError(f"a pole of {head}")
    return result


def same(a: Any, b: Any, precision: int = DIGITS) -> bool:
    """Whether two values are equal; CannotTellError where they agree in more digits than different numbers would."""
    with mpmath.workdps(precision):
        gap, scale = abs(a - b), max(abs(a), abs(b))
        if gap <= _unit(40) * scale:
            return True
        if gap >= _unit(60) * scale:
            return False
    raise CannotTellError("values too close to tell apart")


def rational(number: Any) -> Fraction | None:
    """A real value as a fraction, correct to about 100 digits; None for a complex one."""
    if mpmath.im(number) != 0:
        return None
    sign, mantissa, exponent, _ = mpmath.mpf(mpmath.re(number))._mpf_
    value = Fraction(int(mantissa)) * (Fraction(2) ** int(exponent) if abs(exponent) < 10**5 else 0)
    return -value if sign else value
