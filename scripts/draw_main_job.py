"""Draw a run's held-out accuracy and reward as one picture: python scripts/draw_main_job.py runs/grpo-1

The picture is `docs/assets/main_job.svg` unless --out says otherwise. Its colours are readable on light and on dark
paper, since a picture in a page cannot know which one it lies on.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from html import escape
from pathlib import Path

from guerdon.charts import HEIGHT, WIDTH, Curve, chart
from guerdon.metrics import Event, read_events
from guerdon.run import RunFolder

OUT = Path(__file__).parents[1] / "docs" / "assets" / "main_job.svg"
HEAD, GAP, FOOT = 24, 24, 16

STYLE = """
text { fill: #7d8590; font: 11px system-ui, sans-serif; } .title { font-weight: 600; font-size: 12.5px; }
.axis { stroke: #8b949e; stroke-opacity: .6; } .curve { fill: none; stroke: #3b82f6; stroke-width: 2; }
.band { fill: #3b82f6; opacity: .22; }
"""


def draw(events: Sequence[Event]) -> str:
    """An SVG of two charts side by side. ValueError for a run with fewer than two evaluations or steps."""
    evals = [event for event in events if event["event"] == "eval"]
    steps = [event for event in events if event["event"] == "step"]
    if len(evals) < 2 or len(steps) < 2:
        raise ValueError(f"found {len(evals)} evaluations and {len(steps)} steps; expected two or more of each")
    accuracy = Curve(
        [(e["step"], e["accuracy"]["mean"]) for e in evals],
        [(e["step"], e["accuracy"]["low"], e["accuracy"]["high"]) for e in evals],
        share=True,
    )
    reward = Curve([(e["step"], e["metrics"]["return"]) for e in steps])
    count = f"{evals[-1]['accuracy']['n']:.0f}"
    panels = [
        (f"Held-out accuracy on {count} tasks, with its 95% interval", accuracy),
        ("Mean reward of the completions trained on", reward),
    ]
    width, height = 2 * WIDTH + GAP, HEAD + HEIGHT + FOOT
    body = "".join(_panel(title, curve, i * (WIDTH + GAP)) for i, (title, curve) in enumerate(panels))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(_said(evals))}"><style>{STYLE}</style>{body}</svg>\n'
    )


def _panel(title: str, curve: Curve, x: int) -> str:
    middle = x + WIDTH // 2
    return (
        f'<text class="title" x="{x + 8}" y="15">{escape(title)}</text>'
        f'<svg x="{x}" y="{HEAD}" width="{WIDTH}" height="{HEIGHT}">{chart(curve)}</svg>'
        f'<text x="{middle}" y="{HEAD + HEIGHT + 6}" text-anchor="middle">step</text>'
    )


def _said(evals: Sequence[Event]) -> str:
    first, last = evals[0]["accuracy"]["mean"], evals[-1]["accuracy"]["mean"]
    return f"Held-out accuracy goes from {first:.2f} to {last:.2f} in {evals[-1]['step']} steps."


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw a run's held-out accuracy and reward as one picture.")
    parser.add_argument("run", type=Path, help="a run folder")
    parser.add_argument("--out", type=Path, default=OUT, help=f"the picture (default: {OUT})")
    given = parser.parse_args()
    picture = draw(read_events(RunFolder(given.run).metrics))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(picture, encoding="utf-8")
    print(given.out)


if __name__ == "__main__":
    main()
