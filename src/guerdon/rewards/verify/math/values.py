"""What an answer can be: expressions as small trees, and the typed values built from them. Plain immutable data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction


class CannotTellError(Exception):
    """An answer that cannot be decided: not all of it is understood, or it is too large to evaluate. Never a guess."""


@dataclass(frozen=True)
class Num:
    """A rational number. decimals: digits written after the point; None where it is exact (an integer, a ratio)."""

    value: Fraction
    decimals: int | None = None


@dataclass(frozen=True)
class Name:
    """A variable, with its subscript and primes."""

    name: str


@dataclass(frozen=True)
class Const:
    """pi, e, i or oo."""

    name: str


@dataclass(frozen=True)
class Apply:
    """An operation or a function of its arguments: add, mul, pow, root, pm, sin, log, abs, ..."""

    head: str
    args: tuple[Node, ...]


Node = Num | Name | Const | Apply


@dataclass(frozen=True)
class Quantity:
    """A scalar with its unit in canonical spelling; '' where none is stated."""

    node: Node
    unit: str = ""


@dataclass(frozen=True)
class Based:
    """Digits in a stated base, as in 12_8: compared as written, since the subscript may be an index as well."""

    digits: str
    base: str


@dataclass(frozen=True)
class Bracket:
    """An ordered list in brackets: a point, a vector or an interval.

    left is '(' or '[', right is ')' or ']'; both are ':' for a ratio or a time.
    """

    left: str
    items: tuple[Value, ...]
    right: str


@dataclass(frozen=True)
class SetOf:
    """Values whose order does not count: {1, 2}, or a list without brackets ('1 and 2'), in which repeats count."""

    items: tuple[Value, ...]
    braces: bool = False


@dataclass(frozen=True)
class Union:
    """A union of sets and intervals, its parts as written."""

    parts: tuple[Value, ...]


@dataclass(frozen=True)
class Matrix:
    """Rows of equal length. A column is not a row."""

    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True)
class Relation:
    """A chain such as 2 < x <= 3: n + 1 sides and n signs, each of = < <= > >= != in."""

    sides: tuple[Value, ...]
    signs: tuple[str, ...]


@dataclass(frozen=True)
class Text:
    """Words."""

    text: str


Value = Quantity | Based | Bracket | SetOf | Union | Matrix | Relation | Text

ONE, MINUS_ONE = Num(Fraction(1)), Num(Fraction(-1))
PI, INFINITY = Const("pi"), Const("oo")


def times(*nodes: Node) -> Node:
    return Apply("mul", nodes)


def minus(left: Node, right: Node) -> Node:
    return Apply("add", (left, times(MINUS_ONE, right)))


def over(top: Node, bottom: Node) -> Node:
    return Apply("mul", (top, Apply("pow", (bottom, MINUS_ONE))))


def leaves(node: Node) -> Iterator[Node]:
    if isinstance(node, Apply):
        for arg in node.args:
            yield from leaves(arg)
    else:
        yield node


def names(node: Node) -> frozenset[str]:
    """The variables of an expression."""
    return frozenset(leaf.name for leaf in leaves(node) if isinstance(leaf, Name))


def mentions(node: Node, constant: str) -> bool:
    return any(isinstance(leaf, Const) and leaf.name == constant for leaf in leaves(node))


def heads(node: Node) -> Iterator[str]:
    if isinstance(node, Apply):
        yield node.head
        for arg in node.args:
            yield from heads(arg)
