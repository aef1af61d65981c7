"""Whether probabilities mean what they say: expected calibration error and the table behind it.

Of predictions made with confidence 0.8, four in five should come true (Guo et al. 2017, On calibration of modern neural
networks).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from guerdon.evaluation.intervals import Interval, wilson


@dataclass(frozen=True)
class Bin:
    """Predictions with low <= confidence < high (the last bin also at its high end). right: the share that came true.

    confidence: their mean. n: how many.
    """

    low: float
    high: float
    confidence: float
    right: Interval
    n: int


@dataclass(frozen=True)
class Calibration:
    """error: ECE, the mean over predictions of |share right - mean confidence| of their bin. table: bins that hold any.

    largest: the largest of these differences (MCE). brier: mean squared difference of confidence and outcome.
    """

    bins: int
    error: float
    largest: float
    brier: float
    table: tuple[Bin, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def calibration(confidences: Sequence[float], outcomes: Sequence[float], bins: int = 10) -> Calibration:
    """Bins of equal width over [0, 1]. outcomes: 1 where the prediction came true, 0 where not, 0.5 for neither.

    Confidences (0.7, 0.7, 0.9, 0.9) with outcomes (1, 0, 1, 1) in 10 bins: error (2 * 0.2 + 2 * 0.1) / 4 = 0.15.
    """
    if len(confidences) != len(outcomes) or not confidences:
        raise ValueError(f"{len(confidences)} confidences and {len(outcomes)} outcomes; expected as many, at least one")
    if bins < 1:
        raise ValueError(f"bins is {bins}; expected at least 1")
    outside = next((value for value in (*confidences, *outcomes) if not 0 <= value <= 1), None)
    if outside is not None:
        raise ValueError(f"found {outside}; expected confidences and outcomes in [0, 1]")
    inside: dict[int, list[tuple[float, float]]] = {}
    for confidence, outcome in zip(confidences, outcomes, strict=True):
        # 0.7 * 10 is 7.000000000000001 and 0.29 * 100 is 28.999999999999996: edges belong to the bin above
        number = min(bins - 1, math.floor(round(confidence * bins, 9)))
        inside.setdefault(number, []).append((confidence, outcome))
    table = tuple(_bin(number, bins, inside[number]) for number in sorted(inside))
    gaps = [abs(one.right.mean - one.confidence) for one in table]
    error = sum(gap * one.n for gap, one in zip(gaps, table, strict=True)) / len(confidences)
    brier = fmean((c - o) ** 2 for c, o in zip(confidences, outcomes, strict=True))
    return Calibration(bins, error, max(gaps), brier, table)


def of_differences(differences: Sequence[float], bins: int = 10) -> Calibration:
    """Calibration of a score whose differences are log-odds: P(chosen is better) = sigmoid(score difference).

    differences: score of the better reply less that of the worse. The prediction is the reply with the higher score,
    with confidence max(P, 1 - P); it comes true where the difference is above 0, and half where it is 0.
    """
    confidences = [sigmoid(abs(difference)) for difference in differences]
    outcomes = [0.5 if difference == 0 else float(difference > 0) for difference in differences]
    return calibration(confidences, outcomes, bins)


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)), without overflow."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _bin(number: int, bins: int, held: Sequence[tuple[float, float]]) -> Bin:
    right = sum(outcome for _, outcome in held)
    mean = fmean(confidence for confidence, _ in held)
    return Bin(number / bins, (number + 1) / bins, mean, wilson(right, len(held)), len(held))
