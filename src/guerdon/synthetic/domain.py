"""What a set of texts is made from: prompts, replies that vary in known ways, and the quality of any reply."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from guerdon.synthetic.labels import Traits


@dataclass(frozen=True)
class Seen:
    """What labellers see of one reply: `Traits` of one item. views: the quality in each group's view."""

    quality: float
    length: float
    phase: float
    views: tuple[float, ...]


@dataclass(frozen=True)
class Domain:
    """Texts of one kind. prompt, reply: drawn from random numbers. seen: what labellers see of any (prompt, reply).

    standard: what single replies are compared with when each is labelled good or bad on its own.
    """

    name: str
    prompt: Callable[[random.Random], str]
    reply: Callable[[random.Random, str], str]
    seen: Callable[[str, str], Seen]
    standard: Seen


def traits(seen: Sequence[Seen]) -> Traits:
    """The traits of n replies as arrays."""
    return Traits(
        np.array([one.quality for one in seen], dtype=np.float64),
        np.array([one.length for one in seen], dtype=np.float64),
        np.array([one.phase for one in seen], dtype=np.float64),
        np.array([one.views for one in seen], dtype=np.float64).T,
    )


def below(numbers: random.Random, n: int) -> int:
    """0 to n - 1, each as often. Only random() is promised to give the same numbers in every Python version."""
    return int(numbers.random() * n)


def pick(numbers: random.Random, among: Sequence[str]) -> str:
    """One of these, each as often."""
    return among[below(numbers, len(among))]
