"""pass@k: the chance that at least one of k attempts at a task is right, estimated from n >= k attempts."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import comb

from guerdon.evaluation.intervals import Interval, rate_over_tasks


def pass_at_k(n: int, c: int, k: int) -> float:
    """1 - C(n - c, k) / C(n, k): the unbiased estimate from c right attempts in n (Chen et al. 2021, eq. 1).

    It is the share of all k-subsets of the n attempts that hold a right one. 1 <= k <= n and 0 <= c <= n.
    """
    if not (1 <= k <= n and 0 <= c <= n):
        raise ValueError(f"pass@{k} of {c} right in {n} attempts; expected 1 <= k <= n and 0 <= c <= n")
    return float(1 - Fraction(comb(n - c, k), comb(n, k)))


def pass_at_k_over_tasks(counts: Mapping[str, tuple[int, int]], k: int, confidence: float = 0.95) -> Interval:
    """The mean of pass@k over tasks, each with (n attempts, c right), and its interval with the task as the unit.

    The interval is the one of `rate_over_tasks`, one value per task.
    """
    for task, (n, _) in counts.items():
        if n < k:
            raise ValueError(f"task {task!r} has {n} attempts; expected at least {k} for pass@{k}")
    return rate_over_tasks({task: [pass_at_k(n, c, k)] for task, (n, c) in counts.items()}, confidence)
