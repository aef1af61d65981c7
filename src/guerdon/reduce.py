"""The loss normaliser as data: a batch and a mask in, one weight per token out.

Computed once over the whole batch of an optimiser step, before any micro-batching, packing or sharding, so that none
of these can change a gradient. A term's loss is sum_n w_n * l_n. Weights are 0 off the mask and carry `share`, so a
span that lies on k paths counts once. A mask that selects nothing gives all zeros, never NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from guerdon.types import Batch

if TYPE_CHECKING:
    from torch import Tensor

Reduce = Callable[[Batch, "Tensor"], "Tensor"]


def token_mean(batch: Batch, mask: Tensor) -> Tensor:
    """Mean over tokens: every action weighs the same (DAPO)."""
    weight = _shared(batch, mask)  # [N]
    return weight / weight.sum().clamp(min=_TINY)


def sequence_mean(batch: Batch, mask: Tensor) -> Tensor:
    """Mean over sequences of the mean over their tokens (GRPO). Sequences without a masked token do not count."""
    return _mean_of_means(_shared(batch, mask), batch.seq)


def sequence_sum(batch: Batch, mask: Tensor) -> Tensor:
    """Mean over sequences of the sum over their tokens (the plain policy gradient)."""
    weight = _shared(batch, mask)  # [N]
    sequences = _mass(weight, batch.seq)[1]
    return weight / max(sequences, 1)


def group_mean(batch: Batch, mask: Tensor) -> Tensor:
    """Mean over groups of the mean over their tokens; a loss that is constant on a group counts once per group."""
    return _mean_of_means(_shared(batch, mask), batch.group)


@dataclass(frozen=True)
class constant:  # noqa: N801 - reads as one of the functions beside it
    """Sum over tokens divided by (sequences * length): no sequence's own length enters (Dr. GRPO)."""

    length: int

    def __call__(self, batch: Batch, mask: Tensor) -> Tensor:
        weight = _shared(batch, mask)
        sequences = _mass(weight, batch.seq)[1]
        return weight / (max(sequences, 1) * self.length)


_TINY = 1e-30


def _shared(batch: Batch, mask: Tensor) -> Tensor:
    return torch.where(mask, batch.share, torch.zeros_like(batch.share))  # [N]


def _mass(weight: Tensor, ids: Tensor) -> tuple[Tensor, int]:
    """Weight of each id's tokens, spread back on them [N], and how many ids have any."""
    unique, inverse = torch.unique(ids, return_inverse=True)
    mass = weight.new_zeros(len(unique)).index_add_(0, inverse, weight)
    return mass[inverse], int((mass > 0).sum())


def _mean_of_means(weight: Tensor, ids: Tensor) -> Tensor:
    mass, count = _mass(weight, ids)
    return weight / mass.clamp(min=_TINY) / max(count, 1)
