"""From what the steps of a solution are worth to what the solution is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

Aggregate = Literal["min", "product", "last", "mean"]


def aggregate(steps: Sequence[float], how: Aggregate) -> float:
    """One number in [0, 1] from the probabilities that each step is right. ValueError without a step.

    min: as its weakest step (Lightman et al. 2023 and others); product: that all are right, were they independent;
    last: what was concluded at the end, as an outcome reward model does; mean. (.9, .2, .6): .2, .108, .6, .566667.
    """
    if not steps:
        raise ValueError("there is no step to aggregate; expected at least one")
    if how == "min":
        return min(steps)
    if how == "last":
        return steps[-1]
    if how == "mean":
        return math.fsum(steps) / len(steps)
    return 0.0 if min(steps) <= 0 else math.exp(math.fsum(math.log(step) for step in steps))
