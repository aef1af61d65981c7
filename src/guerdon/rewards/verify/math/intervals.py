"""Sets of real numbers with rational ends: unions written in different pieces brought to one form."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from guerdon.rewards.verify.math.exact import fold
from guerdon.rewards.verify.math.values import (
    INFINITY,
    MINUS_ONE,
    Bracket,
    CannotTellError,
    Num,
    Quantity,
    SetOf,
    Union,
    Value,
    times,
)

MINUS_INFINITY = Quantity(times(MINUS_ONE, INFINITY))
PLUS_INFINITY = Quantity(INFINITY)
REALS = Bracket("(", (MINUS_INFINITY, PLUS_INFINITY), ")")


@dataclass(frozen=True)
class _Piece:
    """low and high: (-1, 0) and (1, 0) are the infinities, (0, x) is x; closed at either end or not."""

    low: tuple[int, Fraction]
    high: tuple[int, Fraction]
    from_low: bool
    to_high: bool


def merged(union: Union) -> Value:
    """The union with pieces that touch or overlap in one; as it is where an end is no rational number."""
    pieces = [piece for part in union.parts for piece in _pieces(part)]
    if any(piece is None for piece in pieces):
        return union
    ordered = sorted((piece for piece in pieces if piece is not None), key=lambda p: (p.low, not p.from_low))
    kept: list[_Piece] = []
    for piece in ordered:
        last = kept[-1] if kept else None
        if last and (piece.low < last.high or (piece.low == last.high and (piece.from_low or last.to_high))):
            high, closed = max((last.high, last.to_high), (piece.high, piece.to_high))
            kept[-1] = _Piece(last.low, high, last.from_low, closed)
        else:
            kept.append(piece)
    parts = tuple(map(_written, kept))
    return parts[0] if len(parts) == 1 else Union(parts)


def _pieces(part: Value) -> list[_Piece | None]:
    if isinstance(part, SetOf):
        return [_piece(item, item, True, True) for item in part.items]
    if isinstance(part, Bracket) and len(part.items) == 2:
        return [_piece(part.items[0], part.items[1], part.left == "[", part.right == "]")]
    return [None]


def _piece(low: Value, high: Value, from_low: bool, to_high: bool) -> _Piece | None:
    start, end = _end(low), _end(high)
    if start is None or end is None or start > end:
        return None
    return _Piece(start, end, from_low and not start[0], to_high and not end[0])


def _end(value: Value) -> tuple[int, Fraction] | None:
    if not isinstance(value, Quantity) or value.unit:
        return None
    if value in (PLUS_INFINITY, MINUS_INFINITY):
        return (1 if value == PLUS_INFINITY else -1), Fraction(0)
    node = fold(value.node)
    return (0, node.value) if isinstance(node, Num) else None


def _written(piece: _Piece) -> Value:
    low, high = (_value(end) for end in (piece.low, piece.high))
    if piece.low == piece.high:
        return SetOf((low,), braces=True)
    return Bracket("[" if piece.from_low else "(", (low, high), "]" if piece.to_high else ")")


def _value(end: tuple[int, Fraction]) -> Quantity:
    return {1: PLUS_INFINITY, -1: MINUS_INFINITY}.get(end[0]) or Quantity(Num(end[1]))


def without(points: Sequence[Value]) -> Value:
    """The real line without some points. CannotTellError where they are no rational numbers."""
    ends = [_end(point) for point in points]
    if any(end is None or end[0] for end in ends):
        raise CannotTellError("the real line without what is no rational number")
    stops = [MINUS_INFINITY, *(_value(end) for end in sorted({end for end in ends if end is not None})), PLUS_INFINITY]
    return Union(tuple(Bracket("(", pair, ")") for pair in itertools.pairwise(stops)))
