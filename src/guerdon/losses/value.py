"""Fitting a value head to returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from guerdon.losses.base import PerToken, reads
from guerdon.losses.policy import on_mask
from guerdon.types import Batch

if TYPE_CHECKING:
    from torch import Tensor


def squared(value: Tensor, target: Tensor) -> Tensor:
    """(V - R)^2 / 2. [N]"""
    return (value - target).square() / 2


def clipped_squared(value: Tensor, old: Tensor, target: Tensor, clip: float) -> Tensor:
    """max((V - R)^2, (clip(V, V_old - clip, V_old + clip) - R)^2) / 2, the larger error of the two. [N]

    V=1, V_old=0.2, R=0.5, clip=0.2: 0.125.
    """
    near = torch.clamp(value, min=old - clip, max=old + clip)
    return torch.maximum(squared(value, target), squared(near, target))


@dataclass(frozen=True)
class ValueLoss(PerToken):
    """Squared error of the value head against the stream `return` that `advantages.gae.GAE` sets.

    clip: how far a value may profitably move from the stream `value` (as it was when advantages were computed).
    """

    clip: float = 0.2
    needs = reads("value")
    wants = reads("value")

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        value, old, target = (on_mask(v, batch) for v in (out["value"], batch.stream("value"), batch.stream("return")))
        return clipped_squared(value, old, target, self.clip)  # [N]


@dataclass(frozen=True)
class PlainValueLoss(PerToken):
    """`ValueLoss` without the clip."""

    wants = reads("value")

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        return squared(on_mask(out["value"], batch), on_mask(batch.stream("return"), batch))  # [N]
