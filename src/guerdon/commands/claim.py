"""`guerdon claim SLUG`: does what the paper says show at laptop scale? One table, one word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console


def claim(slug: str, seeds: int | None, quick: bool, keep: bool) -> dict[str, Any]:
    """Run the experiment of a method, print what came out, and return it; with `keep`, write the record."""
    from rich.console import Console
    from rich.progress import Progress

    from guerdon.claims.record import find_claim, record, write
    from guerdon.claims.run import run_claim
    from guerdon.commands.output import say

    _check_claimed(slug)
    found = find_claim(slug)
    count = seeds or (2 if quick else found.seeds)
    words = f"guerdon claim {slug}" + (f" --seeds {seeds}" if seeds else "") + (" --quick" if quick else "")
    with Progress(console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task("starting", total=None)
        results = run_claim(
            found, count, quick, lambda what, done, of: bars.update(bar, description=what, completed=done, total=of)
        )
    told = record(found, results, words)
    show(told)
    if keep and not quick:
        say(f"written to {write(told)}")
    return told


def _check_claimed(slug: str) -> None:
    """ValueError for a method that is there but has no claim: its name is right, so that no other one is meant."""
    from guerdon.claims.record import claim_names
    from guerdon.recipes.catalog import catalog

    claimed = [entry.card.slug for entry in catalog() if entry.card.slug.replace("-", "_") in claim_names()]
    if slug not in claimed and slug in (entry.card.slug for entry in catalog()):
        raise ValueError(f"there is no claim of {slug}; there are claims of {', '.join(claimed)}")


def show(told: dict[str, Any]) -> None:
    """The table of a record: arms with their metrics and budget, expectations with paired differences, the word."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    console.print(told["claim"], markup=False)
    arms = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("arm", "metric", "mean", "95% interval"):
        arms.add_column(column)
    for name, arm in told["arms"].items():
        for place, (metric, one) in enumerate(arm["metrics"].items()):
            first = Text(name if place == 0 else "")
            arms.add_row(first, metric, f"{one['mean']:.4g}", f"{one['low']:.4g} to {one['high']:.4g}")
    console.print(arms)
    _show_budgets(console, {name: arm["budget_per_seed"] for name, arm in told["arms"].items()})
    expected = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("expected", "difference in that direction", "95% interval", ""):
        expected.add_column(column)
    for one in told["expectations"]:
        d = one["difference"]
        label = f"{one['text']} (control)" if one["control"] else one["text"]
        expected.add_row(label, f"{d['mean']:.4g}", f"{d['low']:.4g} to {d['high']:.4g}", one["word"])
    console.print(expected)
    console.print(f"{told['slug']}: {told['word']} ({len(told['seeds'])} seeds)", style="bold", markup=False)


def _show_budgets(console: Console, used: Mapping[str, Mapping[str, float]]) -> None:
    """What each arm used per seed, a column for each thing that any of them counted."""
    from rich.table import Table
    from rich.text import Text

    from guerdon.claims.base import BUDGET, unequal

    names = [name for name in BUDGET if any(name in one for one in used.values())]
    if not names:
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("used per seed", *(name.replace("_", " ") for name in names)):
        table.add_column(column)
    for arm, one in used.items():
        table.add_row(Text(arm), *(f"{one[name]:,.0f}" if name in one else "" for name in names))
    console.print(table)
    if told := unequal(used):
        console.print(told, style="yellow", markup=False)
