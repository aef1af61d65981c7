"""Counts of steps that were taken for right or wrong, and the scores of process benchmarks that are made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

THRESHOLD = 0.5
"""A step is taken for right where its probability to be right is above this."""


def first_wrong(probabilities: Sequence[float], threshold: float = THRESHOLD) -> int:
    """Index of the first step that is not taken for right; -1 where all are. nan is not taken for right."""
    return next((i for i, p in enumerate(probabilities) if not p > threshold), -1)


def f1_of(acc_error: float, acc_correct: float) -> float:
    """Harmonic mean, 0 where both are 0. 0.6 and 0.9: 0.72."""
    total = acc_error + acc_correct
    return 2 * acc_error * acc_correct / total if total else 0.0


@dataclass(frozen=True)
class Counts:
    """Steps: right ones that were accepted (tp) and refused (fn), wrong ones accepted (fp) and refused (tn)."""

    tp: int = 0
    fp: int = 0
    tn: int = 0
    fn: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.tp + other.tp, self.fp + other.fp, self.tn + other.tn, self.fn + other.fn)

    @property
    def f1(self) -> float:
        """Of right steps; nan where there are none and none was accepted."""
        return _f1(self.tp, self.fp, self.fn)

    @property
    def negative_f1(self) -> float:
        """Of wrong steps; nan where there are none and none was refused."""
        return _f1(self.tn, self.fn, self.fp)

    @property
    def score(self) -> float:
        """PRMScore: (f1 + negative f1) / 2, nan where one of them is. 6, 2, 3, 1: (0.8 + 2/3) / 2 = 0.7333333."""
        return (self.f1 + self.negative_f1) / 2

    @property
    def n(self) -> int:
        return self.tp + self.fp + self.tn + self.fn


def count(right: Sequence[bool], accepted: Sequence[bool]) -> Counts:
    """What is true of the steps of one solution, against what was said."""
    pairs = list(zip(right, accepted, strict=True))
    return Counts(*(pairs.count(pair) for pair in ((True, True), (False, True), (False, False), (True, False))))


def _f1(hits: int, false: int, missed: int) -> float:
    total = 2 * hits + false + missed
    return 2 * hits / total if total else math.nan
