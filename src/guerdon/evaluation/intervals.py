"""How sure a number is: intervals for rates, for means over tasks with several samples each, and for differences.

The unit is always the task. Samples of one task are alike, so a hundred of them say less than a hundred tasks do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, variance

Samples = Mapping[str, Sequence[float]]
"""Values by task id, one or more per task."""


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval: low <= mean <= high. n: independent units (tasks) behind it."""

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.4g} [{self.low:.4g}, {self.high:.4g}] (n={self.n})"


def wilson(right: float, n: float, confidence: float = 0.95) -> Interval:
    """A rate of `right` in `n` independent trials, one per task (Wilson 1927, JASA 22: the score interval).

    Stays within [0, 1] and is not empty at 0 of n or n of n, where the normal interval is. 0 <= right <= n, n > 0;
    they may be fractional, for a sample whose effective size is.
    """
    if not (n > 0 and 0 <= right <= n):
        raise ValueError(f"{right} right of {n}; expected 0 <= right <= n with n > 0")
    z2, rate = _normal_quantile(confidence) ** 2, right / n
    center = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (rate * (1 - rate) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    # At 0 and 1 the bound equals the rate; rounding must not push it past.
    return Interval(rate, min(max(0.0, center - half), rate), max(min(1.0, center + half), rate), round(n))


def rate_over_tasks(samples: Samples, confidence: float = 0.95) -> Interval:
    """The mean over tasks of each task's mean, for values in [0, 1]: Wilson's interval at the effective sample size.

    With T tasks of means m_t and overall mean p, the effective size is p(1 - p) / (var(m) / T), kept between T (all
    samples of a task agree) and the number of samples (they are as good as independent). With one sample per task it
    is Wilson's interval. Sizes by the design effect: Korn & Graubard 1998, Survey Methodology 24.
    """
    means = list(_task_means(samples).values())
    outside = [value for values in samples.values() for value in values if not 0 <= value <= 1]
    if outside:
        raise ValueError(f"found the value {outside[0]}; expected rates in [0, 1] (mean_over_tasks takes any values)")
    rate, tasks = min(1.0, fmean(means)), len(means)
    spread = variance(means) / tasks if tasks > 1 else 0.0
    most = sum(len(values) for values in samples.values())
    size = min(max(rate * (1 - rate) / spread, tasks), most) if spread > 0 else tasks
    interval = wilson(rate * size, size, confidence)
    return Interval(rate, min(interval.low, rate), max(interval.high, rate), tasks)


def mean_over_tasks(samples: Samples, confidence: float = 0.95) -> Interval:
    """The mean over tasks of each task's mean, for any values: Student's t interval of the task means.

    One task alone says nothing about others: its interval is the whole line.
    """
    return _t_interval(list(_task_means(samples).values()), confidence)


def paired_difference(first: Samples, second: Samples, confidence: float = 0.95) -> Interval:
    """The mean over tasks of (mean of `second` - mean of `first`): Student's t interval of the differences per task.

    Positive means that `second` is higher. Both must hold the same tasks, whose difficulty then cancels. Where all
    differences are equal the interval has no width, which with few tasks is no proof.
    """
    if first.keys() != second.keys():
        odd = sorted(first.keys() ^ second.keys())
        raise ValueError(f"{len(odd)} tasks are in one of the two only, such as {odd[0]!r}; expected the same tasks")
    lower, upper = _task_means(first), _task_means(second)
    return _t_interval([upper[task] - lower[task] for task in lower], confidence)


def _task_means(samples: Samples) -> dict[str, float]:
    if not samples:
        raise ValueError("there are no tasks; expected at least one")
    for task, values in samples.items():
        if not values or not all(math.isfinite(value) for value in values):
            raise ValueError(f"task {task!r} has the values {list(values)}; expected one or more finite numbers")
    return {task: fmean(values) for task, values in samples.items()}


def _t_interval(values: Sequence[float], confidence: float) -> Interval:
    from scipy.special import stdtrit

    mean, n = fmean(values), len(values)
    if n == 1:
        return Interval(mean, -math.inf, math.inf, 1)
    half = float(stdtrit(n - 1, _upper(confidence))) * math.sqrt(variance(values) / n)
    return Interval(mean, mean - half, mean + half, n)


def _normal_quantile(confidence: float) -> float:
    return NormalDist().inv_cdf(_upper(confidence))


def _upper(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; expected a number between 0 and 1, such as 0.95")
    return (1 + confidence) / 2
