"""Baselines from the group: how much better a completion is than its siblings.

All of them work on path returns R_i over the n paths of one group and give every action of a path the same
advantage. A group whose returns are equal up to rounding carries no signal and gets advantage exactly 0; other terms
of the loss, such as a KL term, still train on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from guerdon.advantages.base import Reads
from guerdon.advantages.segments import Paths, paths
from guerdon.types import Batch

if TYPE_CHECKING:
    from torch import Tensor

TOLERANCE = 1e-6
"""A group has no signal if the (population) deviation of its returns is at most TOLERANCE * max(1, max |R|)."""


def has_signal(values: Paths) -> Tensor:
    """Whether the returns of each sequence's group differ by more than rounding. [S] bool"""
    groups, returns = values.groups, values.returns
    centred = returns - groups.spread(groups.mean(returns))
    deviation = groups.mean(centred.square()).sqrt()  # [G]
    scale = groups.max(returns.abs()).clamp(min=1)  # [G]
    return groups.spread(deviation > TOLERANCE * scale)


def centred(values: Paths) -> Tensor:
    """R_i - mean(R) within each group, exactly 0 in groups without signal. [S]"""
    groups, returns = values.groups, values.returns
    difference = returns - groups.spread(groups.mean(returns))
    return torch.where(has_signal(values), difference, torch.zeros_like(difference))


@dataclass(frozen=True)
class GroupMean(Reads):
    """A_i = R_i - mean(R) (Dr. GRPO, Liu et al. 2025). R = (1, 0, 0, 0) gives (0.75, -0.25, -0.25, -0.25)."""

    min_group = 2

    def __call__(self, batch: Batch) -> Batch:
        found = paths(batch)
        return batch.put(advantage=found.spread(centred(found), batch))


@dataclass(frozen=True)
class GroupNorm(Reads):
    """A_i = (R_i - mean(R)) / (std(R) + eps) (GRPO, Shao et al. 2024, section 4.1.2), std with n - ddof below.

    R = (1, 0, 0, 0) gives (1.5, -0.5, -0.5, -0.5) for ddof 1 and eps -> 0.
    """

    eps: float = 1e-6
    ddof: int = 1
    min_group = 2

    def __call__(self, batch: Batch) -> Batch:
        found = paths(batch)
        difference, groups = centred(found), found.groups
        freedom = (groups.size() - self.ddof).clamp(min=1).double()
        deviation = (groups.sum(difference.square()) / freedom).sqrt()  # [G]
        return batch.put(advantage=found.spread(difference / groups.spread(deviation + self.eps), batch))


@dataclass(frozen=True)
class LeaveOneOut(Reads):
    """A_i = R_i - mean of the other n - 1 returns = n / (n - 1) (R_i - mean(R)) (RLOO, Ahmadian et al. 2024, eq. 6).

    R = (1, 0, 0, 0) gives (1, -1/3, -1/3, -1/3).
    """

    min_group = 2

    def __call__(self, batch: Batch) -> Batch:
        found = paths(batch)
        size = found.groups.spread(found.groups.size()).double()  # [S]
        return batch.put(advantage=found.spread(centred(found) * size / (size - 1).clamp(min=1), batch))
