"""Curves as inline SVG: pure functions from numbers to text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 360, 170
LEFT, RIGHT, TOP, BOTTOM = 52, 8, 8, 22
MOST_POINTS = 400


@dataclass(frozen=True)
class Curve:
    """points: (x, y), x rising. band: (x, low, high) around it. What is not finite is left out.

    share: the numbers lie in [0, 1], and the axis shows all of it: a change looks as large as it is.
    """

    points: Sequence[tuple[float, float]]
    band: Sequence[tuple[float, float, float]] = ()
    share: bool = False


def chart(*curves: Curve, doubling: bool = False) -> str:
    """An SVG of curves in one frame with its axes; '' when none has a finite point.

    Curve number i of several is of class `curve-i`, its band of `band-i`. doubling: x is drawn by its logarithm.
    """
    drawn = [_finite(curve, doubling) for curve in curves]
    if not any(points for points, _ in drawn):
        return ""
    xs = [x for points, _ in drawn for x, _ in points]
    ys = [y for points, band in drawn for y in [*(y for _, y in points), *(y for _, *b in band for y in b)]]
    x0, x1 = _range(xs)
    y0, y1 = (0.0, 1.0) if any(curve.share for curve in curves) else _range(ys)

    def place(x: float, y: float) -> str:
        across = LEFT + (x - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT)
        down = HEIGHT - BOTTOM - (y - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM)
        return f"{across:.1f},{down:.1f}"

    parts = [_axes(*((2**x0, 2**x1) if doubling else (x0, x1)), y0, y1)]
    for number, (_, band) in enumerate(drawn):
        if band:
            edge = [place(x, high) for x, _, high in band] + [place(x, low) for x, low, _ in reversed(band)]
            parts.append(f'<polygon class="{_class("band", number, curves)}" points="{" ".join(edge)}"/>')
    for number, (points, _) in enumerate(drawn):
        line = " ".join(place(x, y) for x, y in points)
        parts += [f'<polyline class="{_class("curve", number, curves)}" points="{line}"/>'] if points else []
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{"".join(parts)}</svg>'


Points = list[tuple[float, float]]
Band = list[tuple[float, float, float]]


def _finite(curve: Curve, doubling: bool) -> tuple[Points, Band]:
    def across(x: float) -> float:
        return math.log2(x) if doubling else x

    points = thinned([(across(p[0]), p[1]) for p in curve.points if all(map(math.isfinite, p))])
    return points, [(across(b[0]), b[1], b[2]) for b in curve.band if all(map(math.isfinite, b))]


def _class(kind: str, number: int, curves: Sequence[Curve]) -> str:
    return f"{kind} {kind}-{number}" if len(curves) > 1 else kind


def thinned(points: Sequence[tuple[float, float]], most: int = MOST_POINTS) -> list[tuple[float, float]]:
    """At most about `most` points: means of equally many neighbours."""
    size = math.ceil(len(points) / most) if points else 1
    cells = [points[i : i + size] for i in range(0, len(points), size)]
    return [(sum(x for x, _ in cell) / len(cell), sum(y for _, y in cell) / len(cell)) for cell in cells]


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = max(0.5, abs(high) * 1e-3)
    return (low, high) if high - low > room * 1e-9 else (low - room, high + room)


def _axes(x0: float, x1: float, y0: float, y1: float) -> str:
    base, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    lines = [(LEFT, base, right, base), (LEFT, TOP, LEFT, base)]
    drawn = [f'<line class="axis" x1="{a}" y1="{b}" x2="{c}" y2="{d}"/>' for a, b, c, d in lines]
    texts = [
        (LEFT - 4, TOP + 9, "end", y1),
        (LEFT - 4, base, "end", y0),
        (LEFT, HEIGHT - 6, "start", x0),
        (right, HEIGHT - 6, "end", x1),
    ]
    drawn += [f'<text x="{x}" y="{y}" text-anchor="{anchor}">{_short(value)}</text>' for x, y, anchor, value in texts]
    return "".join(drawn)


def _short(value: float) -> str:
    """A number at an axis: 0.125, 12, 8,000, 250,000, 1.2e+07."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"
