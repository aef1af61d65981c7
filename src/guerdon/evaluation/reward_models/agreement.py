"""How alike several reward models choose, and whether they err on the same pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from guerdon.evaluation.evaluate import as_dict
from guerdon.judges.agreement import agreement

NONE = "none"


def choices(scores: Sequence[Sequence[float]]) -> list[str]:
    """What is preferred in each pair of (chosen, rejected): 'chosen', 'rejected', 'tie', 'none' where a score lacks."""
    return [_choice(chosen - rejected) for chosen, rejected in scores]


def _choice(difference: float) -> str:
    if math.isnan(difference):
        return NONE
    return "chosen" if difference > 0 else "rejected" if difference < 0 else "tie"


def between(models: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """For each two models by name: the share of pairs with equal choices, and Cohen's kappa.

    Since every model tends to choose 'chosen', kappa is agreement beyond what their accuracies alone would give: 0 for
    two models that err independently of each other, 1 for two that err alike, None where one of them never varies.
    Pairs that one of the two gives no score are left out.
    """
    found = []
    for first, second in combinations(models, 2):
        both = [(a, b) for a, b in zip(models[first], models[second], strict=True) if NONE not in (a, b)]
        if not both:
            continue
        told = agreement([a for a, _ in both], [b for _, b in both])
        found.append(
            {
                "models": [first, second],
                "pairs": len(both),
                "share": None if told.accuracy is None else as_dict(told.accuracy),
                "kappa": None if told.kappa is None else as_dict(told.kappa),
            }
        )
    return found
