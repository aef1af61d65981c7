"""ProcessBench: where is the first wrong step (Zheng et al. 2024, arXiv:2412.06559).

The first step that the model does not take for right is its answer, -1 where it takes all of them. F1 is the harmonic
mean of the share of exact answers on erroneous solutions and that on right ones, for each subset; the benchmark is the
mean over subsets.

Rows: `problem`, `steps` (list of texts), `label` (index of the first wrong step from 0, -1 for none), `id`
(`gsm8k-0`: the subset is what stands before the number). Rows of our own layout `stepwise` (`prompt`, `completions`,
`labels`) can be read, too: their first false label is what is looked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from guerdon.evaluation.intervals import Interval, wilson
from guerdon.evaluation.reward_models.base import Report, ScoreSteps, Solution, checked, count_unscored
from guerdon.evaluation.reward_models.cells import Cells, cells
from guerdon.evaluation.reward_models.steps import THRESHOLD, count, f1_of, first_wrong
from guerdon.tasks.files import Numbered

COLUMNS = ("problem", "steps", "label", "id")
STEPWISE = ("prompt", "completions", "labels")


@dataclass(frozen=True)
class Row:
    """label: index of the first wrong step, or -1. right: whether each step is, where that is known."""

    solution: Solution
    label: int
    subset: str
    right: tuple[bool, ...] | None = None


def read(stored: Sequence[Numbered], where: str) -> list[Row]:
    """BadRow for a missing column, or a label that is no step."""
    return [_row(one) for one in cells(stored, where)]


def _row(one: Cells) -> Row:
    steps = one.texts("steps")
    label = one.number("label", -1, len(steps) - 1)
    subset = one.name("id").rpartition("-")[0] if "id" in one.one.row else ""
    return Row(Solution(one.asked("problem"), steps, one.rest(*COLUMNS)), label, subset or "all")


def read_stepwise(stored: Sequence[Numbered], where: str) -> list[Row]:
    """BadRow for a missing column, or another number of labels than of steps."""
    found = []
    for one in cells(stored, where):
        steps = one.texts("completions")
        right = one.truths("labels", len(steps))
        label = right.index(False) if False in right else -1
        found.append(Row(Solution(one.asked("prompt"), steps, one.rest(*STEPWISE)), label, "all", right))
    return found


def evaluate(rows: Sequence[Row], score: ScoreSteps, threshold: float | str = THRESHOLD) -> Report:
    """threshold: a step is taken for right above it; or the name of a subset, on which the best one is chosen.

    Where every step's label is known, the report says how well they are told apart, over all steps.
    """
    scores = checked(score([row.solution for row in rows]), [len(row.solution.steps) for row in rows])
    names = list(dict.fromkeys(row.subset for row in rows))
    if isinstance(threshold, str):
        if threshold not in names:
            raise ValueError(f"there is no subset {threshold!r} to choose a threshold on; found {names}")
        used = best_threshold(*zip(*_of(threshold, rows, scores), strict=True))
    else:
        used = threshold
    parts: dict[str, Interval | float] = {}
    heads: dict[str, float] = {}
    for name in names:
        found = shares([(row.label, first_wrong(one, used)) for row, one in _of(name, rows, scores)])
        parts |= {f"{name}/error": found.error, f"{name}/correct": found.correct, f"{name}/f1": found.f1}
        heads[name] = found.f1
    further = {"threshold": used, "f1": heads, "steps": _steps(rows, scores, used)}
    return Report("processbench", fmean(heads.values()), len(rows), parts, count_unscored(scores), further)


def best_threshold(rows: Sequence[Row], scores: Sequence[Sequence[float]]) -> float:
    """The threshold of the highest F1 on these rows, between two scores; the one nearest to 0.5 where several are."""
    values = sorted({0.0, 1.0, *(p for found in scores for p in found if not math.isnan(p))})
    tried = [THRESHOLD, *((low + high) / 2 for low, high in pairwise(values))]

    def worth(threshold: float) -> tuple[float, float]:
        found = shares([(row.label, first_wrong(one, threshold)) for row, one in zip(rows, scores, strict=True)])
        return found.f1, -abs(threshold - THRESHOLD)

    return max(tried, key=worth)


@dataclass(frozen=True)
class Shares:
    """error, correct: shares of exact answers on erroneous and on right solutions, nan where there are none."""

    error: Interval | float
    correct: Interval | float
    f1: float


def shares(answers: Sequence[tuple[int, int]]) -> Shares:
    """Of (label, answer) of each row. f1 is nan without rows of one of the two kinds."""
    error = [label == said for label, said in answers if label >= 0]
    correct = [label == said for label, said in answers if label < 0]
    if not error or not correct:
        return Shares(_rate(error), _rate(correct), math.nan)
    return Shares(_rate(error), _rate(correct), f1_of(fmean(error), fmean(correct)))


def _rate(hits: Sequence[bool]) -> Interval | float:
    return wilson(sum(hits), len(hits)) if hits else math.nan


def _of(name: str, rows: Sequence[Row], scores: Sequence[Sequence[float]]) -> list[tuple[Row, Sequence[float]]]:
    return [(row, found) for row, found in zip(rows, scores, strict=True) if row.subset == name]


def _steps(rows: Sequence[Row], scores: Sequence[Sequence[float]], threshold: float) -> dict[str, float | int] | None:
    """How single steps are told apart; None where their labels are not known."""
    known = [(row.right, found) for row, found in zip(rows, scores, strict=True) if row.right is not None]
    if not known:
        return None
    counts = count([one for right, _ in known for one in right], [p > threshold for _, found in known for p in found])
    accuracy = (counts.tp + counts.tn) / counts.n
    return {
        "n": counts.n,
        "accuracy": accuracy,
        "f1": counts.f1,
        "negative_f1": counts.negative_f1,
        "prmscore": counts.score,
    }
