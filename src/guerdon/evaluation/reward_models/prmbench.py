"""PRMBench: are the steps of nine kinds of spoilt solutions told apart (Song et al. 2025, arXiv:2501.03124).

PRMScore = (F1 of right steps + F1 of wrong steps) / 2 over all steps of the spoilt solutions together; also for each
kind. The two kinds of simplicity may be judged by a head of their own that says how redundant a step is.

Rows: `modified_question`, `modified_process` (list of texts), `error_steps` (numbers of steps, from 1),
`classification`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from guerdon.evaluation.intervals import Interval, wilson
from guerdon.evaluation.reward_models.base import Report, ScoreSteps, Solution, checked, count_unscored
from guerdon.evaluation.reward_models.cells import cells
from guerdon.evaluation.reward_models.steps import THRESHOLD, Counts, count
from guerdon.tasks.files import Numbered

COLUMNS = ("modified_question", "modified_process", "error_steps", "classification")

ASPECTS: Mapping[str, tuple[str, ...]] = {
    "simplicity": ("redundency", "circular"),
    "soundness": ("counterfactual", "step_contradiction", "domain_inconsistency", "confidence"),
    "sensitivity": ("missing_condition", "deception", "multi_solutions"),
}
"""Kinds by aspect, as the data set spells them."""

REDUNDANT = 0.15
"""A step is taken for redundant where the probability of that is above this."""


@dataclass(frozen=True)
class Row:
    """right: whether each step is."""

    solution: Solution
    right: tuple[bool, ...]
    kind: str


def read(stored: Sequence[Numbered], where: str) -> list[Row]:
    """BadRow for a missing column, or an error step that is none of the solution's."""
    found = []
    for one in cells(stored, where):
        steps = one.texts("modified_process")
        wrong = one.numbers("error_steps", 1, len(steps))
        right = tuple(number not in wrong for number in range(1, len(steps) + 1))
        solution = Solution(one.asked("modified_question"), steps, one.rest(*COLUMNS))
        found.append(Row(solution, right, one.name("classification")))
    return found


def evaluate(
    rows: Sequence[Row],
    score: ScoreSteps,
    redundancy: ScoreSteps | None = None,
    threshold: float = THRESHOLD,
    redundant: float = REDUNDANT,
) -> Report:
    """redundancy: the probability that each step is redundant, asked about the kinds of simplicity only."""
    apart = [row.kind in ASPECTS["simplicity"] and redundancy is not None for row in rows]
    plain = [row for row, out in zip(rows, apart, strict=True) if not out]
    simple = [row for row, out in zip(rows, apart, strict=True) if out]
    scores = _asked(plain, score)
    accepted = [(row, [p > threshold for p in found]) for row, found in zip(plain, scores, strict=True)]
    if redundancy is not None and simple:
        found = _asked(simple, redundancy)
        accepted += [(row, [p <= redundant for p in one]) for row, one in zip(simple, found, strict=True)]
        scores += found
    kinds: dict[str, Counts] = {}
    for row, said in accepted:
        kinds[row.kind] = kinds.get(row.kind, Counts()) + count(row.right, said)
    total = reduce(Counts.__add__, kinds.values(), Counts())
    parts: dict[str, Interval | float] = {"f1": total.f1, "negative_f1": total.negative_f1}
    parts |= _firsts("first_error", accepted)
    for aspect, names in ASPECTS.items():
        here = [kinds[name] for name in names if name in kinds]
        if here:
            parts[aspect] = reduce(Counts.__add__, here, Counts()).score
    for kind, counts in kinds.items():
        parts |= {f"kind/{kind}": counts.score, f"kind/{kind}/accuracy": (counts.tp + counts.tn) / counts.n}
        parts |= _firsts(f"kind/{kind}/first_error", [one for one in accepted if one[0].kind == kind])
    further = {
        "steps": {"tp": total.tp, "fp": total.fp, "tn": total.tn, "fn": total.fn},
        "threshold": threshold,
        "redundancy_head": redundancy is not None,
    }
    return Report("prmbench", total.score, len(rows), parts, count_unscored(scores), further)


def _asked(rows: Sequence[Row], score: ScoreSteps) -> list[list[float]]:
    if not rows:
        return []
    return checked(score([row.solution for row in rows]), [len(row.solution.steps) for row in rows])


def _firsts(name: str, accepted: Sequence[tuple[Row, list[bool]]]) -> dict[str, Interval | float]:
    """The share of solutions whose first wrong step is refused, of those that have one."""
    firsts = [(row.right.index(False), said) for row, said in accepted if False in row.right]
    refused = [not said[first] for first, said in firsts]
    return {name: wilson(sum(refused), len(refused))} if refused else {}
