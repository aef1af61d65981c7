"""Medians, ratios and slopes: what the rows of a race and the points of a curve come to."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, float]

SECONDS = ("step", "sample", "learn", "cpu")
"""What of a row is a time in seconds."""

BUSY = 0.05
"""Share of the machine that other processes may take before a step counts as disturbed."""


def summarise(rows: Sequence[Row]) -> dict[str, Any]:
    """One contestant's rows: the median of each time, tokens per second, its peak memory, and every step."""
    if not rows:
        raise ValueError("no step was counted; expected at least one round")
    found: dict[str, Any] = {
        name: round(statistics.median(row[name] for row in rows), 4) for name in SECONDS if name in rows[0]
    }
    if "tokens" in rows[0]:
        rates = [row["tokens"] / row.get("sample", row["step"]) for row in rows]
        found["sampled_tokens_per_second"] = round(statistics.median(rates), 1)
    found["peak_mb"] = round(max(row["peak_mb"] for row in rows))
    found["threads"] = int(rows[0]["threads"])
    found["disturbed_steps"] = sum(row.get("others", 0.0) > BUSY for row in rows)
    found["steps"] = [{name: round(value, 4) for name, value in row.items() if name not in _CONSTANT} for row in rows]
    return found


_CONSTANT = ("threads",)


def ratios(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, float]:
    """How many times as fast we are, by part of the step, and our share of their peak memory."""
    both = [name for name in SECONDS if ours.get(name) and theirs.get(name)]
    found = {name: round(theirs[name] / ours[name], 3) for name in both}
    return {**found, "memory": round(ours["peak_mb"] / theirs["peak_mb"], 3)}


def differing(ours: Sequence[Row], theirs: Sequence[Row], name: str) -> list[int]:
    """Rounds in which the contestants counted differently, where both counted."""
    rounds = enumerate(zip(ours, theirs, strict=True))
    return [i for i, (a, b) in rounds if name in a and name in b and a[name] != b[name]]


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Least squares of log y over log x: the power with which y grows."""
    if len(xs) != len(ys) or len(set(xs)) < 2:
        raise ValueError(f"a slope needs as many values as places, and two different places: {len(xs)} and {len(ys)}")
    u, v = [math.log(x) for x in xs], [math.log(y) for y in ys]
    at, level = statistics.fmean(u), statistics.fmean(v)
    return sum((a - at) * (b - level) for a, b in zip(u, v, strict=True)) / sum((a - at) ** 2 for a in u)
