"""Best of n by a reward model, judged by gold: does picking by it help, and from which n on does it hurt.

Rows: `prompt` and `completion` (one sample each; those of one prompt belong together), or `prompt` and `completions`
(a list). The gold of a sample is a column (a number; beside `completions` a list of them), or asked of another reward.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.data.row import Text
from guerdon.evaluation.best_of_n import BestOfN, best_of_n
from guerdon.evaluation.intervals import Interval
from guerdon.evaluation.reward_models.base import Candidates, Report, ScoreLists, checked
from guerdon.evaluation.reward_models.cells import Cells, cells
from guerdon.tasks.files import Numbered

COLUMNS = ("prompt", "completion", "completions")


@dataclass(frozen=True)
class Samples:
    """The samples of one prompt. gold: of each; None where it has to be asked."""

    item: Candidates
    gold: tuple[float, ...] | None


def read(stored: Sequence[Numbered], where: str, gold: str | None = None) -> list[Samples]:
    """gold: the column it stands in. BadRow for a missing column or a gold that is no number."""
    found: dict[str, tuple[Text, list[str], list[float], dict[str, object]]] = {}
    for one in cells(stored, where):
        prompt = one.asked("prompt")
        several = "completions" in one.one.row
        replies = one.texts("completions") if several else (one.text("completion"),)
        held = found.setdefault(str(prompt), (prompt, [], [], one.rest(*COLUMNS)))
        held[1].extend(replies)
        if gold is not None:
            held[2].extend(_numbers(one, gold, len(replies), several))
    return [
        Samples(Candidates(prompt, tuple(replies), data), tuple(values) if gold is not None else None)
        for prompt, replies, values, data in found.values()
    ]


def evaluate(rows: Sequence[Samples], proxy: ScoreLists, gold: ScoreLists | None = None, seed: int = 0) -> Report:
    """The headline is the mean gold of the best of all samples. gold: who is asked where the rows have none.

    Samples that get no score are left out, and prompts of which none is left.
    """
    items, sizes = [row.item for row in rows], [len(row.item.replies) for row in rows]
    proxies = checked(proxy(items), sizes)
    golds = [list(row.gold) for row in rows if row.gold is not None]
    if len(golds) != len(rows):
        if gold is None:
            raise ValueError("the samples have no gold; name a column or a reward that gives it")
        golds = checked(gold(items), sizes)
    scored, unscored = _known(proxies, golds)
    if not scored:
        raise ValueError("no sample has both scores; expected at least one prompt with some")
    found = best_of_n(scored, seed)
    return Report("best-of-n", found.points[-1].gold.mean, len(rows), _parts(found), unscored, found.as_dict())


def _known(
    proxies: Sequence[Sequence[float]], golds: Sequence[Sequence[float]]
) -> tuple[dict[str, tuple[list[float], list[float]]], int]:
    """Samples with both scores, by prompt, and how many have not."""
    found: dict[str, tuple[list[float], list[float]]] = {}
    missing = 0
    for number, (proxy, gold) in enumerate(zip(proxies, golds, strict=True)):
        kept = [(p, g) for p, g in zip(proxy, gold, strict=True) if math.isfinite(p) and math.isfinite(g)]
        missing += len(proxy) - len(kept)
        if kept:
            found[str(number)] = [p for p, _ in kept], [g for _, g in kept]
    return found, missing


def _parts(found: BestOfN) -> dict[str, Interval | float]:
    points = found.points
    return {
        "gold at n = 1": points[0].gold,
        f"gold at n = {found.peak}, the peak": points[found.peak - 1].gold,
        f"gold at n = {len(points)}": points[-1].gold,
    }


def _numbers(one: Cells, column: str, n: int, several: bool) -> list[float]:
    value = one.one.row.get(column)
    values: list[Any] = list(value) if several and isinstance(value, list) else [value]
    if len(values) != n or not all(map(_finite, values)):
        one.bad(column, value, f"{n} finite numbers" if several else "a finite number")
    return [float(x) for x in values]


def _finite(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
