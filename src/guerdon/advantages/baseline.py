"""Baselines taken from scores before credit is spread over time: from the whole batch, or from the group."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from guerdon.advantages.base import Reads
from guerdon.advantages.group import centred
from guerdon.advantages.segments import actions, paths
from guerdon.types import Batch


@dataclass(frozen=True)
class MinusBatchMean(Reads):
    """Subtracts the mean path return of the batch from an advantage that is already there (REINFORCE's b).

    The mean includes the path itself, which shrinks the expected gradient by (S - 1)/S for S paths.
    """

    def __call__(self, batch: Batch) -> Batch:
        advantage = batch.stream("advantage")
        lower = advantage - paths(batch).returns.mean().to(advantage.dtype)
        return batch.put(advantage=torch.where(batch.mask, lower, torch.zeros_like(lower)))


@dataclass(frozen=True)
class CentreRewards(Reads):
    """Subtracts the group's mean return from each path's return, on the path's last action (REINFORCE++-baseline).

    A group without signal ends with a return of 0 on every path, up to the rounding of its rewards.
    """

    min_group = 2

    def __call__(self, batch: Batch) -> Batch:
        found, layout = paths(batch), actions(batch)
        shift = (centred(found) - found.returns).to(batch.reward.dtype)  # [S]
        return batch.put(reward=batch.reward + layout.on_last(shift, batch.reward))
