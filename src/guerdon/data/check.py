"""What can be said of typed rows without a model: lengths, rows that repeat, prompts answered in two ways."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from guerdon.data.row import Row, plain


@dataclass(frozen=True)
class Repeats:
    """Groups of row numbers, each group two or more. same: prompt and target; conflicting: the prompt alone."""

    same: list[list[int]]
    conflicting: list[list[int]]


def repeats(rows: Sequence[Row]) -> Repeats:
    """Rows with equal prompts, told apart by whether their targets are equal too."""
    asked: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        target = [row.answer, row.completion, row.label, row.steps, row.chosen, row.rejected, row.margin]
        asked[_key(_given(row))][_key(target)].append(row.number)
    same = [numbers for targets in asked.values() for numbers in targets.values() if len(numbers) > 1]
    conflicting = [sorted(chain.from_iterable(targets.values())) for targets in asked.values() if len(targets) > 1]
    return Repeats(same, conflicting)


def _given(row: Row) -> Any:
    """What has to be equal for two rows to ask the same."""
    if row.prompt is None and isinstance(row.chosen, list):
        return row.chosen[:-1]
    return row.prompt if row.prompt is not None else row.messages or row.text


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def spread(values: Sequence[int]) -> dict[str, int] | None:
    """min, median, p95 and max, each a value that occurs (the smallest that 50 % and 95 % do not exceed)."""
    if not values:
        return None
    ordered = sorted(values)

    def at(share: float) -> int:
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)]

    return {"min": ordered[0], "median": at(0.5), "p95": at(0.95), "max": ordered[-1]}


def characters(rows: Sequence[Row]) -> dict[str, dict[str, int] | None]:
    """Spread of the characters of prompts and of targets; None where the rows have none."""
    prompts = [len(plain(row.prompt)) for row in rows if row.prompt is not None]
    targets = [len(plain(part)) for row in rows for part in targets_of(row)]
    return {"prompt": spread(prompts), "target": spread(targets)}


def targets_of(row: Row) -> list[Any]:
    """What stands against the prompt: the answer, or each reply."""
    steps = None if row.steps is None else "\n".join(step for step, _ in row.steps)
    parts = (row.answer, row.completion, row.chosen, row.rejected, row.messages, row.text, steps)
    return [part for part in parts if part is not None]
