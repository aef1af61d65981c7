"""Rewards that chance has a hand in: verifiers that err at known rates, and outcomes that are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from guerdon.rollouts.base import Context, derive
from guerdon.testbeds.base import Trait
from guerdon.testbeds.sampler import uniforms
from guerdon.types import Group, Score, Task

Outcomes = Sequence[tuple[float, float]]
"""What may come out: (value, probability) each; probabilities add up to 1."""


@dataclass(frozen=True)
class Lottery:
    """Draws what a reply is worth from its outcomes, anew for each sample, from the seed of the rollout."""

    name: str
    outcomes: Callable[[Task, str], Outcomes]
    weight: float = 1.0

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        seeds = np.array([derive(context.seed, self.name, i) for i in range(len(group))], dtype=np.uint64)
        drawn = uniforms(seeds, 1)[:, 0].tolist()
        return [Score(self._pick(self.outcomes(one.task, one.reply), u)) for one, u in zip(group, drawn, strict=True)]

    def _pick(self, outcomes: Outcomes, u: float) -> float:
        for value, chance in outcomes:
            u -= chance
            if u < 0:
                return value
        return outcomes[-1][0]


def chance(name: str, probability: Callable[[Task, str], float], weight: float = 1.0) -> Lottery:
    """1 with this probability, else 0."""

    def outcomes(task: Task, text: str) -> Outcomes:
        p = probability(task, text)
        return ((1.0, p), (0.0, 1 - p))

    return Lottery(name, outcomes, weight)


def noisy(truth: Trait, false_positive: float, false_negative: float, name: str = "verifier") -> Lottery:
    """A verifier that takes a wrong reply for right, and a right one for wrong, this often."""
    for rate in (false_positive, false_negative):
        if not 0 <= rate <= 1:
            raise ValueError(f"an error rate is {rate}; expected 0 to 1")

    def probability(task: Task, text: str) -> float:
        return 1 - false_negative if (truth(task, text) or 0.0) >= 0.5 else false_positive

    return chance(name, probability)
