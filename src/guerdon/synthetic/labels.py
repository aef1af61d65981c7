"""Labellers who prefer one of two items, with the exact probability of every label they may give.

One formula holds all kinds of noise. A labeller of group g prefers a to b with probability

    p_g(a, b) = e_g + (1 - 2 e_g) sigmoid(z_g),   z_g = (dq_g + B dl + C sin(phase_b - phase_a)) / T_g,

where dq_g is how much better a is in that group's view and dl how much longer. T is the temperature (Bradley-Terry), e
the share of labels turned round, B the liking for length. C is the strength of a preference that runs in circles, which
no reward represents: of the phases 0, 2 pi / 3, 4 pi / 3 each beats the next. z is skew-symmetric, so
p(a, b) + p(b, a) = 1. With ties (Davidson 1970) a pair is tied with probability v s / (1 + v s), s = sqrt(p (1 - p)).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DRAWS = 4
"""Uniform numbers that one label uses: its group, whether it is a tie, the preference, whether it is turned round."""


@dataclass(frozen=True)
class Traits:
    """What labellers see of n items. quality: the truth [n]. length [n] and phase (radians) [n]: nuisances.

    views: the quality as each group of labellers sees it [G, n]; of a single group, the truth.
    """

    quality: Array
    length: Array
    phase: Array
    views: Array

    def take(self, rows: NDArray[np.int64]) -> Traits:
        """The traits of these items ([m] indices)."""
        return Traits(self.quality[rows], self.length[rows], self.phase[rows], self.views[:, rows])


@dataclass(frozen=True)
class Labellers:
    """A group of labellers. share: of all labels; temperature > 0; flip: share of labels turned round, 0 to 0.5."""

    share: float = 1.0
    temperature: float = 1.0
    flip: float = 0.0

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise ValueError(f"temperature is {self.temperature}; expected more than 0")
        if not 0 <= self.flip <= 0.5:
            raise ValueError(f"flip is {self.flip}; expected 0 to 0.5")
        if not 0 < self.share <= 1:
            raise ValueError(f"share is {self.share}; expected more than 0, at most 1")


@dataclass(frozen=True)
class Drawn:
    """n labels. outcome: 1 where a is preferred, 0 where b is, 0.5 for a tie [n]. group: who labelled [n].

    margin: how strongly it was felt, in units of the temperature, >= 0, 0 for a tie [n]: |z + noise| of a logistic
    noise that decides the label too, before labels are turned round.
    """

    outcome: Array
    margin: Array
    group: NDArray[np.int64]


@dataclass(frozen=True)
class Labels:
    """How labels come about. length_bias: B; cycle: C; ties: v, all >= 0 but B. Shares of the groups sum to 1."""

    groups: tuple[Labellers, ...] = field(default=(Labellers(),))
    length_bias: float = 0.0
    cycle: float = 0.0
    ties: float = 0.0

    def __post_init__(self) -> None:
        total = sum(group.share for group in self.groups)
        if abs(total - 1) > 1e-9:
            raise ValueError(f"the shares of {len(self.groups)} groups of labellers sum to {total:g}; expected 1")
        for name in ("cycle", "ties"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} is {getattr(self, name)}; expected 0 or more")

    def logits(self, a: Traits, b: Traits) -> Array:
        """z of each group: the log-odds that a is preferred, before labels are turned round. [G, n]"""
        if len(a.views) != len(self.groups):
            raise ValueError(f"items are seen by {len(a.views)} groups, and there are {len(self.groups)} that label")
        shared = self.length_bias * (a.length - b.length) + self.cycle * np.sin(b.phase - a.phase)
        return np.asarray((a.views - b.views + shared) / self._each("temperature"))

    def by_group(self, a: Traits, b: Traits) -> Array:
        """Probability that a labeller of each group prefers a, where it is no tie. [G, n]"""
        flip = self._each("flip")
        return np.asarray(flip + (1 - 2 * flip) * sigmoid(self.logits(a, b)))

    def tie_by_group(self, a: Traits, b: Traits) -> Array:
        """Probability of a tie in each group. [G, n]"""
        p = self.by_group(a, b)
        odds = self.ties * np.sqrt(p * (1 - p))
        return np.asarray(odds / (1 + odds))

    def win(self, a: Traits, b: Traits) -> Array:
        """Probability of the label 'a', whoever labels: win(a, b) + win(b, a) + tie(a, b) = 1. [n]"""
        return self._mean(self.by_group(a, b) * (1 - self.tie_by_group(a, b)))

    def tie(self, a: Traits, b: Traits) -> Array:
        """Probability of a tie, whoever labels. [n]"""
        return self._mean(self.tie_by_group(a, b))

    def probability(self, a: Traits, b: Traits) -> Array:
        """Probability of the label 'a' given that it is no tie: p(a, b) + p(b, a) = 1. [n]"""
        return self.win(a, b) / (1 - self.tie(a, b))

    def matrix(self, items: Traits) -> Array:
        """probability(i, j) of every two of n items. [n, n]"""
        n = len(items.quality)
        i, j = (index.ravel() for index in np.indices((n, n)))
        return self.probability(items.take(i), items.take(j)).reshape(n, n)

    def draw(self, a: Traits, b: Traits, uniform: Array) -> Drawn:
        """A label for each pair. uniform: [n, DRAWS] numbers in [0, 1)."""
        rows = np.arange(len(uniform))
        edges = np.cumsum([group.share for group in self.groups[:-1]])
        group = np.searchsorted(edges, uniform[:, 0], side="right")
        felt = self.logits(a, b)[group, rows] + logit(uniform[:, 2])
        turned = uniform[:, 3] < self._each("flip")[group, 0]
        tied = uniform[:, 1] < self.tie_by_group(a, b)[group, rows]
        outcome = np.where(tied, 0.5, ((felt > 0) != turned).astype(np.float64))
        return Drawn(outcome, np.where(tied, 0.0, np.abs(felt)), group.astype(np.int64))

    def _each(self, name: str) -> Array:
        return np.array([[getattr(group, name)] for group in self.groups], dtype=np.float64)  # [G, 1]

    def _mean(self, by_group: Array) -> Array:
        return np.asarray((self._each("share") * by_group).sum(0))


def bayes_accuracy(probability: Array) -> float:
    """Mean of max(p, 1 - p): the share of labels that the best of all predictions gets right. 0.5 to 1."""
    return float(np.maximum(probability, 1 - probability).mean())


def order_accuracy(probability: Array, gap: Array) -> float:
    """The share of labels, in expectation, that agree with the sign of `gap`; a gap of 0 counts half."""
    return float(np.where(gap > 0, probability, np.where(gap < 0, 1 - probability, 0.5)).mean())


def sigmoid(z: Array) -> Array:
    """1 / (1 + exp(-z)), without overflow. [n]"""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * z)))


def logit(u: Array) -> Array:
    """log u - log(1 - u), finite for u in [0, 1). [n]"""
    u = np.maximum(u, np.finfo(np.float64).tiny)
    return np.asarray(np.log(u) - np.log1p(-u))
