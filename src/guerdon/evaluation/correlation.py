"""How far two numbers go together, with how sure that is: Pearson, Spearman and Kendall."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from guerdon.evaluation.intervals import Interval

KINDS = ("pearson", "spearman", "kendall")


def correlations(
    x: Sequence[float], y: Sequence[float], units: int | None = None, confidence: float = 0.95
) -> dict[str, Interval | None]:
    """Correlations by name; all None where one of the two does not vary or there are fewer than 5 units.

    units: how many independent units the numbers come from, where that is less than their number: two replies to one
    prompt are alike. Intervals are Fisher's on arctanh r, with the standard errors 1 / sqrt(n - 3),
    sqrt((1 + r^2 / 2) / (n - 3)) and sqrt(0.437 / (n - 4)) (Bonett & Wright 2000, Psychometrika 65).
    """
    from scipy.stats import kendalltau, pearsonr, spearmanr

    if len(x) != len(y):
        raise ValueError(f"{len(x)} and {len(y)} numbers; expected as many of both")
    n = len(x) if units is None else units
    if n < 5 or len(set(x)) < 2 or len(set(y)) < 2:
        return dict.fromkeys(KINDS)
    found = {"pearson": pearsonr(x, y)[0], "spearman": spearmanr(x, y)[0], "kendall": kendalltau(x, y)[0]}
    return {kind: _interval(kind, float(r), n, confidence) for kind, r in found.items()}


def _interval(kind: str, r: float, n: int, confidence: float) -> Interval:
    if abs(r) > 1 - 1e-12:  # all on one line: arctanh has no value there
        return Interval(math.copysign(1.0, r), math.copysign(1.0, r), math.copysign(1.0, r), n)
    variance = {"pearson": 1 / (n - 3), "spearman": (1 + r * r / 2) / (n - 3), "kendall": 0.437 / (n - 4)}[kind]
    half = NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(variance)
    return Interval(r, math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half), n)
