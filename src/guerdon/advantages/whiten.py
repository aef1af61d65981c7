"""Normalising advantages over all actions of the batch."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from guerdon.advantages.base import Reads
from guerdon.advantages.group import TOLERANCE
from guerdon.types import Batch


@dataclass(frozen=True)
class Whiten(Reads):
    """(A - mean) / sqrt(var + eps) over the actions of the batch, var with n - ddof below.

    Exactly 0 where the advantages are equal up to rounding: deviation <= TOLERANCE * max(1, max |A|).
    """

    eps: float = 1e-8
    ddof: int = 1

    def __call__(self, batch: Batch) -> Batch:
        advantage = batch.stream("advantage")
        inside = advantage[batch.mask].double()  # [M]
        if not len(inside):
            return batch
        difference = inside - inside.mean()
        tolerance = TOLERANCE * inside.abs().max().clamp(min=1)
        signal = difference.square().mean().sqrt() > tolerance
        variance = difference.square().sum() / max(len(inside) - self.ddof, 1)
        white = torch.where(signal, difference / (variance + self.eps).sqrt(), torch.zeros_like(difference))
        result = torch.zeros_like(advantage)
        result[batch.mask] = white.to(advantage.dtype)
        return batch.put(advantage=result)
