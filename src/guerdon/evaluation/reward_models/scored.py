"""The rows of a file with what a reward model says of them beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.data.row import Row
from guerdon.data.table import Table, table_of, usable
from guerdon.evaluation.reward_models.base import Candidates, Solution, checked
from guerdon.evaluation.reward_models.raters import Rater
from guerdon.tasks.files import Numbered

SINGLE = ("prompt-completion", "unpaired-preference")
LAYOUTS = ("preference", *SINGLE, "stepwise")


def columns_of(
    stored: Sequence[Numbered], where: str, name: str = "score", options: Mapping[str, Any] | None = None
) -> list[str]:
    """The columns that will be added. ValueError when the file has one of them, or is of a layout without replies."""
    layout = _table(stored, where, options or {}).layout.name
    added = {"preference": [f"{name}_chosen", f"{name}_rejected"], "stepwise": [f"{name}_steps"]}.get(layout, [name])
    there = sorted({column for one in stored for column in one.row} & set(added))
    if there:
        raise ValueError(f"{where} has a column {there[0]!r} already; name the new one otherwise (--name)")
    return added


def scored(
    stored: Sequence[Numbered],
    where: str,
    rater: Rater,
    name: str = "score",
    options: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Every usable row as it is stored, with the new columns; None where there is no score.

    Replies get a score each, solutions in steps the list of the probabilities that their steps are right.
    """
    added = columns_of(stored, where, name, options)
    table = _table(stored, where, options or {})
    rows = usable(table, str((options or {}).get("on_bad_rows", "error")))
    if table.layout.name == "stepwise":
        found: list[list[Any]] = [[values] for values in _steps(rows, rater)]
    else:
        found = [list(map(_plain, one)) for one in _lists(rows, rater)]
    held = {one.number: one.row for one in stored}
    return [
        {**held[row.number], **dict(zip(added, values, strict=True))} for row, values in zip(rows, found, strict=True)
    ]


def _table(stored: Sequence[Numbered], where: str, options: Mapping[str, Any]) -> Table:
    return table_of(stored, where, LAYOUTS, options.get("columns", {}), options.get("layout"))


def _lists(rows: Sequence[Row], rater: Rater) -> list[list[float]]:
    items = []
    for row in rows:
        replies = tuple(reply for reply in (row.chosen, row.rejected, row.completion) if reply is not None)
        items.append(Candidates(row.prompt, replies, row.data))
    return checked(rater.lists(items), [len(item.replies) for item in items])


def _steps(rows: Sequence[Row], rater: Rater) -> list[list[float | None]]:
    if rater.steps is None:
        raise ValueError(f"{rater.name} scores whole replies; steps need a model with a step head")
    items = [Solution(row.prompt or "", tuple(step for step, _ in row.steps or ()), row.data) for row in rows]
    found = checked(rater.steps(items), [len(item.steps) for item in items])
    return [[_plain(value) for value in values] for values in found]


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value
