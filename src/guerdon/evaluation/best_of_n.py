"""What picking the best of n by a reward model does to the true reward, computed from stored samples.

From N samples of a prompt, each with its proxy score and its gold score, the expected gold of the best of k by proxy is
known exactly for every k <= N: no sample is drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guerdon.evaluation.evaluate import as_dict
from guerdon.evaluation.intervals import Interval, mean_over_tasks, paired_difference
from guerdon.rollouts.base import derive

Array = NDArray[np.float64]
RESAMPLES = 1000


def kl_of_best(n: int) -> float:
    """KL(best of n || policy) = ln n - (n - 1) / n, in nats, where no two samples tie; else it is at most that.

    n = 4: 0.6362944.
    """
    if n < 1:
        raise ValueError(f"n is {n}; expected at least 1")
    return math.log(n) - (n - 1) / n


def best_of(proxy: Sequence[float], gold: Sequence[float]) -> Array:
    """Expected gold of the best of k by proxy, for k = 1..N. [N], [N] -> [N]

    With the samples in ascending order of proxy: sum_i C(i - 1, k - 1) / C(N, k) gold_(i). Samples that tie in proxy
    are picked between at random: each counts with the mean gold of those it ties with.
    """
    scores, values = np.asarray(proxy, np.float64), np.asarray(gold, np.float64)
    if scores.shape != values.shape or scores.ndim != 1 or not len(scores):
        raise ValueError(f"proxy and gold have shapes {scores.shape} and {values.shape}; expected one [N], N >= 1")
    if not (np.isfinite(scores).all() and np.isfinite(values).all()):
        raise ValueError("a proxy or gold score is not finite; leave such samples out")
    _, tied = np.unique(scores, return_inverse=True)
    values = (np.bincount(tied, weights=values) / np.bincount(tied))[tied][np.argsort(scores, kind="stable")]
    return _all_weights(len(values)) @ values


def weights(n: int, k: int) -> Array:
    """C(i - 1, k - 1) / C(n, k) for i = 1..n: how likely sample i, counted from the worst, is the best of k. [n]"""
    if not 1 <= k <= n:
        raise ValueError(f"k is {k} with {n} samples; expected 1 to {n}")
    found = np.zeros(n)
    found[n - 1] = k / n
    if n > k:
        # from the best down: w_(i-1) = w_i (i - k) / (i - 1)
        i = np.arange(n, k, -1, dtype=np.float64)
        found[k - 1 : n - 1] = (k / n * np.cumprod((i - k) / (i - 1)))[::-1]
    return found


@lru_cache(maxsize=4)
def _all_weights(n: int) -> Array:
    """[k, i] the weights for every k."""
    return np.array([weights(n, k) for k in range(1, n + 1)])


@dataclass(frozen=True)
class Point:
    """Best of n: its KL to the policy in nats, and the mean proxy and gold over prompts."""

    n: int
    kl: float
    proxy: Interval
    gold: Interval


@dataclass(frozen=True)
class BestOfN:
    """A curve over n = 1..N. peak: the n of the highest mean gold; peak_low, peak_high: its 95% bootstrap interval.

    gain: gold at the peak less gold at n = 1, in pairs; loss: gold at N less gold at the peak, below 0 where the proxy
    was over-optimised. Both are None for fewer than two prompts. Since the peak is chosen on the same prompts, they are
    optimistic and pessimistic by a little.
    """

    points: tuple[Point, ...]
    prompts: int
    peak: int
    peak_low: int
    peak_high: int
    gain: Interval | None
    loss: Interval | None

    def as_dict(self) -> dict[str, Any]:
        return {
            "prompts": self.prompts,
            "peak": {"n": self.peak, "low": self.peak_low, "high": self.peak_high},
            "gain": None if self.gain is None else as_dict(self.gain),
            "loss": None if self.loss is None else as_dict(self.loss),
            "points": [
                {"n": one.n, "kl": one.kl, "proxy": as_dict(one.proxy), "gold": as_dict(one.gold)}
                for one in self.points
            ],
        }


def best_of_n(samples: Mapping[str, tuple[Sequence[float], Sequence[float]]], seed: int = 0) -> BestOfN:
    """The curve of (proxy, gold) scores of the samples of each prompt; N is the fewest that a prompt has.

    ValueError when there is no prompt, or one without samples.
    """
    if not samples:
        raise ValueError("there are no samples; expected at least one prompt with some")
    most = min(len(proxy) for proxy, _ in samples.values())
    golds = np.array([best_of(proxy, gold)[:most] for proxy, gold in samples.values()])  # [P, N]
    proxies = np.array([best_of(proxy, proxy)[:most] for proxy, _ in samples.values()])
    names = list(samples)

    def at(values: Array, n: int) -> dict[str, list[float]]:
        return {name: [float(row[n - 1])] for name, row in zip(names, values, strict=True)}

    points = tuple(
        Point(n, kl_of_best(n), mean_over_tasks(at(proxies, n)), mean_over_tasks(at(golds, n)))
        for n in range(1, most + 1)
    )
    peak = int(golds.mean(0).argmax()) + 1
    low, high = _peaks(golds, seed)
    several = len(names) > 1
    gain = paired_difference(at(golds, 1), at(golds, peak)) if several else None
    loss = paired_difference(at(golds, peak), at(golds, most)) if several else None
    return BestOfN(points, len(names), peak, low, high, gain, loss)


def _peaks(golds: Array, seed: int) -> tuple[int, int]:
    """95% of the peaks when prompts are drawn anew."""
    numbers = np.random.default_rng(derive("best of n", seed))
    rows = numbers.integers(0, len(golds), (RESAMPLES, len(golds)))
    peaks = np.array([golds[chosen].mean(0).argmax() for chosen in rows]) + 1
    low, high = np.quantile(peaks, (0.025, 0.975), method="nearest")
    return int(low), int(high)
