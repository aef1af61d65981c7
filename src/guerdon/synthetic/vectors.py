"""Items that are vectors: covariates x in R^D with a true quality, a length, a phase and one view per group.

Pure numpy in float64; `Comparisons.tensors()` has the same as torch tensors. Quality has mean 0 and variance 1 over
items, so that temperatures and biases mean the same for every kind of truth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from guerdon.synthetic.labels import DRAWS, Array, Drawn, Labels, Traits

if TYPE_CHECKING:
    from torch import Tensor

Truth = Literal["linear", "quadratic", "tanh"]
UNITS = 32
"""Random features of a tanh truth."""


@dataclass(frozen=True)
class Items:
    """n items. x: covariates [n, D]; traits: their true quality and what else labellers see."""

    x: Array
    traits: Traits

    def take(self, rows: object) -> Items:
        """The items at these indices ([m])."""
        index = np.asarray(rows, dtype=np.int64)
        return Items(self.x[index], self.traits.take(index))


@dataclass(frozen=True)
class Comparisons:
    """n labelled pairs. probability: that a is preferred where it is no tie, exact [n]."""

    a: Items
    b: Items
    probability: Array
    drawn: Drawn

    def __len__(self) -> int:
        return len(self.probability)

    @property
    def untied(self) -> Comparisons:
        """Without the ties."""
        rows = np.flatnonzero(self.drawn.outcome != 0.5)
        drawn = Drawn(self.drawn.outcome[rows], self.drawn.margin[rows], self.drawn.group[rows])
        return Comparisons(self.a.take(rows), self.b.take(rows), self.probability[rows], drawn)

    def tensors(self) -> dict[str, Tensor]:
        """float32 tensors: chosen and rejected [n, D], their length and quality (`chosen_length`, ...) [n], margin
        [n], probability (that chosen is preferred) [n]; and group [n], int64. ValueError when there are ties."""
        import torch

        if bool((self.drawn.outcome == 0.5).any()):
            raise ValueError("there are ties, of which neither item is chosen; take `untied` first")
        first = self.drawn.outcome > 0.5
        found = {"margin": self.drawn.margin, "probability": np.where(first, self.probability, 1 - self.probability)}
        for name, one, other in (("chosen", self.a, self.b), ("rejected", self.b, self.a)):
            found[name] = np.where(first[:, None], one.x, other.x)
            for trait in ("quality", "length"):
                found[f"{name}_{trait}"] = np.where(first, getattr(one.traits, trait), getattr(other.traits, trait))
        tensors = {name: torch.from_numpy(value).float() for name, value in found.items()}
        return tensors | {"group": torch.from_numpy(self.drawn.group)}


@dataclass(frozen=True)
class World:
    """A truth over vectors: equal settings and seed give equal numbers.

    truth: linear w.x with |w| = 1; quadratic x'Ax; tanh: a random layer of 32 units. length_link: correlation of length
    with quality, -1 to 1. groups: how many views there are; spread: how far each departs from the truth: the view of
    group g is quality + spread * u_g.x, |u_g| = 1 (of two groups, +u and -u; of one, the truth itself).
    """

    dim: int = 8
    truth: Truth = "linear"
    length_link: float = 0.0
    groups: int = 1
    spread: float = 1.0
    seed: int = 0
    _quality: Callable[[Array], Array] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.truth not in get_args(Truth):
            raise ValueError(f"truth is {self.truth!r}; expected one of {', '.join(get_args(Truth))}")
        if self.dim < 1 or self.groups < 1:
            raise ValueError(f"dim is {self.dim} and groups {self.groups}; expected 1 or more of each")
        if not -1 <= self.length_link <= 1:
            raise ValueError(f"length_link is {self.length_link}; expected -1 to 1")
        numbers = np.random.default_rng([self.seed, 0])
        make = {"linear": self._linear, "quadratic": _quadratic, "tanh": _tanh}[self.truth]
        object.__setattr__(self, "_quality", make(self.dim, numbers))

    @cached_property
    def weights(self) -> Array:
        """w of a linear truth. [D]"""
        return _unit(np.random.default_rng([self.seed, 1]), self.dim)

    @cached_property
    def departures(self) -> Array:
        """spread * u_g of each group. [G, D]"""
        if self.groups == 1:
            return np.zeros((1, self.dim))
        numbers = np.random.default_rng([self.seed, 2])
        found = [_unit(numbers, self.dim) for _ in range(self.groups)]
        if self.groups == 2:
            found[1] = -found[0]
        return self.spread * np.stack(found)

    def quality(self, x: Array) -> Array:
        """The truth, of any covariates. [n, D] -> [n]"""
        return self._quality(x)

    def items(self, n: int, seed: int = 0) -> Items:
        """n items with x from the standard normal distribution, phases uniform, lengths of mean 0 and variance 1."""
        numbers = np.random.default_rng([self.seed, 3, seed])
        x = numbers.standard_normal((n, self.dim))
        quality = self.quality(x)
        length = self.length_link * quality + np.sqrt(1 - self.length_link**2) * numbers.standard_normal(n)
        phase = 2 * np.pi * numbers.random(n)
        return Items(x, Traits(quality, length, phase, quality + self.departures @ x.T))

    def compare(self, labels: Labels, n: int, seed: int = 0) -> Comparisons:
        """n labelled pairs of fresh items."""
        items = self.items(2 * n, seed)
        a, b = items.take(np.arange(n)), items.take(np.arange(n, 2 * n))
        uniform = np.random.default_rng([self.seed, 4, seed]).random((n, DRAWS))
        probability = labels.probability(a.traits, b.traits)
        return Comparisons(a, b, probability, labels.draw(a.traits, b.traits, uniform))

    def mixed(self, items: Items, width: int = 32) -> Array:
        """tanh of a random mix of covariates and length: features of which neither can be read off. [n, width]"""
        numbers = np.random.default_rng([self.seed, 5, width])
        mix = numbers.standard_normal((self.dim + 1, width)) / np.sqrt(self.dim + 1)
        return np.asarray(np.tanh(np.column_stack([items.x, items.traits.length]) @ mix))

    def _linear(self, dim: int, numbers: np.random.Generator) -> Callable[[Array], Array]:
        return lambda x: np.asarray(x @ self.weights)


def _quadratic(dim: int, numbers: np.random.Generator) -> Callable[[Array], Array]:
    half = numbers.standard_normal((dim, dim))
    matrix = half + half.T
    trace, scale = float(np.trace(matrix)), float(np.sqrt(2) * np.linalg.norm(matrix))  # mean and spread of x'Ax
    return lambda x: np.asarray(((x @ matrix * x).sum(1) - trace) / scale)


def _tanh(dim: int, numbers: np.random.Generator) -> Callable[[Array], Array]:
    layer = 2 * numbers.standard_normal((dim, UNITS)) / np.sqrt(dim)
    head = numbers.standard_normal(UNITS)
    scale = float((np.tanh(numbers.standard_normal((20_000, dim)) @ layer) @ head).std())  # its mean is 0: it is odd
    return lambda x: np.asarray(np.tanh(x @ layer) @ head / scale)


def _unit(numbers: np.random.Generator, dim: int) -> Array:
    found = numbers.standard_normal(dim)
    return np.asarray(found / np.linalg.norm(found))
