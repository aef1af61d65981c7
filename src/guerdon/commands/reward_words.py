"""What people are told about a reward model: tables of a report and of the course of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from guerdon.evaluation.reward_models.base import Report
    from guerdon.evaluation.reward_models.over_optimisation import Course


def show(report: Report, found: Mapping[str, Any]) -> None:
    """The headline, its parts, and what else was found."""
    print(f"{found['bench']}: {_number(report.score)} on {report.rows} rows")
    _table(["", "", "95% interval", "n"], [_cells(name, one) for name, one in found["parts"].items()])
    for line in _lines(found):
        print(line)
    if "robustness" in found:
        _show_robustness(found["robustness"])


def show_course(course: Course) -> None:
    rows = [[str(one.step), _number(one.kl), str(one.proxy), str(one.gold)] for one in course.moments]
    _table(["step", "kl", f"proxy: {course.proxy}", f"gold: {course.gold}"], rows)
    fallen = "the end" if course.fallen is None else f"since then {course.fallen.mean:+.4g}"
    print(f"gold is highest at step {course.peak.step} ({course.peak.gold}); {fallen}")


def _lines(found: Mapping[str, Any]) -> list[str]:
    lines = []
    if found.get("missing"):
        lines.append(f"without rows of: {', '.join(found['missing'])}")
    if found["unscored"]:
        lines.append(f"without a score, and so lost: {found['unscored']}")
    if found["bench"] == "steps":
        one = found["steps"]
        lines.append(
            f"single steps told right: {one['accuracy']:.3f} of {one['n']}, PRMScore {_number(one['prmscore'])}"
        )
    for one in found.get("calibration", ()):
        lines.append(f"calibration error in {one['bins']} bins: {one['error']:.3f}")
    for unit, one in found.get("length", {}).items():
        within = one["within_pairs"]["spearman"]
        if within is not None:
            lines.append(
                f"score with length in {unit}, within pairs: Spearman {within['mean']:+.3f} "
                f"({within['low']:+.3f} to {within['high']:+.3f})"
            )
    for one in found.get("agreement", ()):
        first, second = one["models"]
        kappa = "undefined" if one["kappa"] is None else f"{one['kappa']['mean']:.3f}"
        lines.append(f"{first} and {second} choose alike in {one['share']['mean']:.3f}, kappa {kappa}")
    if "peak" in found:
        peak = found["peak"]
        lines.append(f"gold is highest at best of {peak['n']} ({peak['low']} to {peak['high']})")
    return lines


def _show_robustness(found: Mapping[str, Any]) -> None:
    rows = [
        [
            name,
            one["keeps"],
            str(one["pairs"]),
            f"{one['before']['mean']:.3f}",
            f"{one['after']['mean']:.3f}",
            "" if one["drop"] is None else f"{one['drop']['low']:+.3f} to {one['drop']['high']:+.3f}",
            f"{one['consistent']['mean']:.3f}",
        ]
        for name, one in found["rewrites"].items()
    ]
    _table(["rewrite", "keeps", "pairs", "before", "after", "drop", "same ranking"], rows)
    drop = "" if found["drop"] is None else f"drop over all: {found['drop']['mean']:+.3f}; "
    print(f"{drop}worst: {found['worst']}; below chance: {found['below_chance']} of {len(rows)}")
    if found["absent"]:
        print(f"applied to no pair: {', '.join(found['absent'])}")


def _cells(name: str, value: Any) -> list[str]:
    if not isinstance(value, Mapping):
        return [name, _number(value), "", ""]
    return [name, _number(value["mean"]), f"{value['low']:.3f} to {value['high']:.3f}", str(value["n"])]


def _number(value: float) -> str:
    return "undefined" if value != value else f"{value:.3f}"


def _table(head: list[str], rows: list[list[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in head:
        table.add_column(column)
    for row in rows:
        table.add_row(*map(Text, row))
    Console(highlight=False, soft_wrap=True).print(table)
