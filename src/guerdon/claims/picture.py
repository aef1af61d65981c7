"""A record as a picture: for each metric that something was expected of, every arm's mean with its interval, as SVG.

It takes its ink from the page that it stands in, so that it suits light and dark ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

WIDTH, LABEL, RIGHT = 640, 210, 60
ROW, HEAD, FOOT = 18, 20, 26

Arms = Sequence[tuple[str, Mapping[str, float]]]
"""(arm, its mean, low and high)."""


def picture(found: Mapping[str, Any]) -> str:
    """The SVG of a record; '' when no arm has what was expected."""
    panels = [(metric, arms) for metric in expected(found) if (arms := _arms(found, metric))]
    drawn, top = [], 0
    for metric, arms in panels:
        drawn.append(_panel(metric, arms, top))
        top += HEAD + ROW * len(arms) + FOOT
    if not drawn:
        return ""
    style = 'style="max-width: 46rem; font: 12px system-ui, sans-serif" fill="currentColor"'
    told = f"<title>{escape(found['slug'])}: means of each arm with 95% intervals over seeds</title>"
    return f'<svg viewBox="0 0 {WIDTH} {top}" role="img" {style}>{told}{"".join(drawn)}</svg>'


def expected(found: Mapping[str, Any]) -> list[str]:
    """Metrics that the claim is about, in the order of its expectations; controls are no part of it."""
    named = [one["text"].partition(" of ")[0] for one in found["expectations"] if not one["control"]]
    return list(dict.fromkeys(named))


def _arms(found: Mapping[str, Any], metric: str) -> Arms:
    return [(name, arm["metrics"][metric]) for name, arm in found["arms"].items() if metric in arm["metrics"]]


def _panel(metric: str, arms: Arms, top: int) -> str:
    ends = [one[end] for _, one in arms for end in ("mean", "low", "high") if math.isfinite(one[end])]
    least, most = min(ends), max(ends)
    room = 0.04 * (most - least) or abs(least) or 1.0
    least, most = least - room, most + room

    def across(value: float) -> float:
        return LABEL + (min(max(value, least), most) - least) / (most - least) * (WIDTH - LABEL - RIGHT)

    parts = [f'<text x="0" y="{top + 14}" font-weight="600">{escape(metric)}</text>']
    for place, (name, one) in enumerate(arms):
        y = top + HEAD + ROW * place + ROW / 2
        low, high, mean = across(one["low"]), across(one["high"]), across(one["mean"])
        parts += [
            f'<text x="{LABEL - 10}" y="{y + 4:.1f}" text-anchor="end">{escape(name)}</text>',
            f'<line x1="{low:.1f}" y1="{y:.1f}" x2="{high:.1f}" y2="{y:.1f}" stroke="currentColor" stroke-width="2"/>',
            f'<circle cx="{mean:.1f}" cy="{y:.1f}" r="3.5"/>',
            f'<text x="{WIDTH - RIGHT + 10}" y="{y + 4:.1f}">{one["mean"]:.3g}</text>',
        ]
    base = top + HEAD + ROW * len(arms)
    line = f'<line x1="{LABEL}" y1="{base}" x2="{WIDTH - RIGHT}" y2="{base}" stroke="currentColor" opacity=".35"/>'
    marks = [(LABEL, "start", least), (WIDTH - RIGHT, "end", most)]
    texts = [
        f'<text x="{x}" y="{base + 13}" text-anchor="{anchor}" font-size="10" opacity=".7">{value:.3g}</text>'
        for x, anchor, value in marks
    ]
    return "".join([*parts, line, *texts])
