"""Credit along time: return-to-go and generalised advantage estimation, over the trainable tokens of a sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from guerdon.advantages.base import Reads
from guerdon.advantages.segments import actions
from guerdon.losses.base import reads
from guerdon.types import Batch

if TYPE_CHECKING:
    from torch import Tensor


def discounted(rewards: Tensor, discount: float) -> Tensor:
    """y_t = r_t + discount * y_{t+1}, with 0 after the last column. [S, L] -> [S, L]"""
    running = rewards.new_zeros(rewards.shape[0])
    table = torch.empty_like(rewards)
    for t in reversed(range(rewards.shape[1])):
        running = rewards[:, t] + discount * running
        table[:, t] = running
    return table


def gae(rewards: Tensor, values: Tensor, gamma: float, lam: float) -> Tensor:
    """A_t = delta_t + gamma lam A_{t+1}, delta_t = r_t + gamma V_{t+1} - V_t (Schulman et al. 2016, eq. 16).

    rewards, values: [S, L], zero in the padding to the right of each sequence; V after the last column is 0.
    """
    following = torch.cat([values[:, 1:], torch.zeros_like(values[:, :1])], dim=1)
    return discounted(rewards + gamma * following - values, gamma * lam)


@dataclass(frozen=True)
class ReturnToGo(Reads):
    """A_t = sum over s >= t of gamma^(s - t) r_s, time counted in actions; no baseline."""

    gamma: float = 1.0

    def __call__(self, batch: Batch) -> Batch:
        layout = actions(batch)
        return batch.put(advantage=layout.scatter(discounted(layout.collect(batch.reward), self.gamma), batch.reward))


@dataclass(frozen=True)
class GAE(Reads):
    """Generalised advantages from the stream `value`; also sets `return` = A + V, what a value head is fitted to.

    Runs over actions only: a masked token's value changes nothing, and what it was rewarded with lands on the last
    action before it.
    """

    gamma: float = 1.0
    lam: float = 0.95
    needs = reads("value")

    def __call__(self, batch: Batch) -> Batch:
        layout = actions(batch)
        values = layout.gather(batch.stream("value"))
        table = gae(layout.collect(batch.reward), values, self.gamma, self.lam)
        return batch.put(
            advantage=layout.scatter(table, batch.reward), **{"return": layout.scatter(table + values, batch.reward)}
        )
