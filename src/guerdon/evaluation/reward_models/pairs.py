"""Pairs of our own layout `preference`: how often, how surely and on what grounds the better reply is scored higher.

accuracy     share of pairs whose chosen reply has the strictly higher score, also by the values of any column
margin       score of chosen less that of rejected
calibration  whether sigmoid(margin) is the probability that it claims to be
length       how score goes with length: of replies, and of differences within pairs, which quality that differs from
             prompt to prompt cannot blur
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, quantiles
from typing import Any

from guerdon.data.layouts import PREFERENCES
from guerdon.data.table import table_of, usable
from guerdon.evaluation.calibration import of_differences
from guerdon.evaluation.correlation import correlations
from guerdon.evaluation.evaluate import as_dict
from guerdon.evaluation.intervals import Interval, mean_over_tasks, wilson
from guerdon.evaluation.reward_models.base import (
    Candidates,
    CountTokens,
    Report,
    ScoreLists,
    by_name,
    checked,
    count_unscored,
    last_text,
)
from guerdon.names import nearest
from guerdon.tasks.files import Numbered
from guerdon.types import EMPTY

BINS = (10, 15)
MOST_GROUPS = 100
"""Values that a column may have to be told apart by."""


@dataclass(frozen=True)
class Row:
    """replies of the item: chosen, rejected."""

    item: Candidates


def read(
    stored: Sequence[Numbered], where: str, columns: Mapping[str, str] = EMPTY, on_bad_rows: str = "error"
) -> list[Row]:
    """Rows of the layout `preference`. BadRow names the file and the row; with 'skip' a warning counts them."""
    table = table_of(stored, where, PREFERENCES, columns)
    found = []
    for row in usable(table, on_bad_rows):
        if row.chosen is None or row.rejected is None:
            raise TypeError(f"row {row.number} of the layout preference has no pair")
        found.append(Row(Candidates(row.prompt, (row.chosen, row.rejected), row.data)))
    return found


def evaluate(
    rows: Sequence[Row], score: ScoreLists, tokens: CountTokens | None = None, by: Sequence[str] = ()
) -> Report:
    """The headline is the accuracy. by: columns by whose values it is told apart as well."""
    scores = checked(score([row.item for row in rows]), [2] * len(rows))
    right = [float(chosen > rejected) for chosen, rejected in scores]
    parts: dict[str, Interval | float] = {"accuracy": wilson(sum(right), len(right))}
    for column in by:
        names = [f"{column}={name}" for name in _values(rows, column)]
        parts |= {name: wilson(*found) for name, found in by_name(names, right).items()}
    known = [i for i, one in enumerate(scores) if not any(map(math.isnan, one))]
    further = _further([rows[i] for i in known], [scores[i] for i in known], tokens) if known else {}
    return Report("pairs", fmean(right), len(rows), parts, count_unscored(scores), further)


def _further(rows: list[Row], scores: list[list[float]], tokens: CountTokens | None) -> dict[str, Any]:
    margins = [chosen - rejected for chosen, rejected in scores]
    sizes = {"characters": [[len(last_text(reply)) for reply in row.item.replies] for row in rows]}
    if tokens is not None:
        sizes["tokens"] = [tokens(row.item) for row in rows]
    return {
        "ties": margins.count(0.0),
        "margin": margin_of(margins),
        "calibration": [of_differences(margins, bins).as_dict() for bins in BINS],
        "log_loss": fmean(_log_loss(margin) for margin in margins),
        "length": {unit: length_of(scores, found) for unit, found in sizes.items()},
    }


def margin_of(margins: Sequence[float]) -> dict[str, Any]:
    """Their mean with its interval, and how they are spread."""
    found: dict[str, Any] = {"mean": as_dict(mean_over_tasks({str(i): [m] for i, m in enumerate(margins)}))}
    if len(margins) > 1:
        cuts = quantiles(margins, n=20, method="inclusive")
        found["quantiles"] = {f"{p}": cuts[p // 5 - 1] for p in (5, 25, 50, 75, 95)}
    return found


def length_of(scores: Sequence[Sequence[float]], sizes: Sequence[Sequence[int]]) -> dict[str, Any]:
    """How score goes with length, and how right it is where chosen is the longer, the shorter, or as long.

    replies: over all of them, as many independent ones as there are pairs. within_pairs: difference of scores against
    difference of lengths. longer_preferred: share of pairs of two lengths whose longer reply scores higher.
    """
    pairs = list(zip(scores, sizes, strict=True))
    order: dict[str, list[float]] = {"longer": [], "shorter": [], "equal": []}
    for (chosen, rejected), (long, short) in pairs:
        order["longer" if long > short else "shorter" if long < short else "equal"].append(float(chosen > rejected))
    preferred = [(a - b) * (x - y) > 0 for (a, b), (x, y) in pairs if x != y]
    flat = [value for one in scores for value in one], [float(size) for one in sizes for size in one]
    differences = [a - b for a, b in scores], [float(x - y) for x, y in sizes]
    return {
        "replies": _plain(correlations(*flat, units=len(scores))),
        "within_pairs": _plain(correlations(*differences)),
        "accuracy_where_chosen_is": {
            name: as_dict(wilson(sum(found), len(found))) for name, found in order.items() if found
        },
        "longer_preferred": as_dict(wilson(sum(preferred), len(preferred))) if preferred else None,
        "chosen_mean": fmean(x for x, _ in sizes),
        "rejected_mean": fmean(y for _, y in sizes),
    }


def _values(rows: Sequence[Row], column: str) -> list[str]:
    """What the rows have in a column. ValueError when none has it, or when it tells nearly every row apart."""
    have = {name for row in rows for name in row.item.data}
    if column not in have:
        raise ValueError(f"there is no column {column!r} to group by{nearest(column, have)}; found {sorted(have)}")
    values = [str(row.item.data.get(column)) for row in rows]
    if len(set(values)) > MOST_GROUPS:
        raise ValueError(f"the column {column!r} has {len(set(values))} values; expected at most {MOST_GROUPS} groups")
    return values


def _plain(found: Mapping[str, Interval | None]) -> dict[str, Any]:
    return {kind: None if one is None else as_dict(one) for kind, one in found.items()}


def _log_loss(margin: float) -> float:
    """-log sigmoid(margin), in nats; ln 2 for a score that knows nothing."""
    return math.log1p(math.exp(-margin)) if margin > 0 else math.log1p(math.exp(margin)) - margin
