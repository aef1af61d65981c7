"""Importance weights between the sampler and the trainer, where both run the same weights but not the same kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from guerdon.advantages.base import Reads
from guerdon.advantages.segments import segments
from guerdon.losses.base import reads
from guerdon.types import Batch

if TYPE_CHECKING:
    from torch import Tensor

Level = Callable[[Batch, "Tensor"], "Tensor"]
"""(batch, log-ratios [N], 0 off the mask) -> log-weights [N]."""

LIMIT = 20.0
"""Log-weights are held within +-LIMIT, far beyond any cap, so that their exponentials are finite."""


def per_token(batch: Batch, log_ratio: Tensor) -> Tensor:
    """Each action has its own weight."""
    return log_ratio


def per_sequence(batch: Batch, log_ratio: Tensor) -> Tensor:
    """All actions of a sequence share the ratio of the whole sequence's probabilities."""
    sequences = segments(batch.seq)
    return sequences.spread(sequences.sum(log_ratio))


@dataclass(frozen=True)
class TruncatedImportance(Reads):
    """w = min(exp(old - behavior), cap), as stream `correction`; untruncated as `correction_raw` (Yao et al. 2025).

    `old` is what the trainer computes for the weights the tokens were sampled with, `behavior` what the sampler
    reported. Only objectives wrapped in `losses.policy.Corrected` read the weights. cap > 0; level: see `Level`.
    """

    cap: float = 2.0
    level: Level = per_token
    needs = reads("old")

    def __post_init__(self) -> None:
        if not self.cap > 0:
            raise ValueError(f"cap is {self.cap}; expected a positive bound on the importance weight, such as 2")

    def __call__(self, batch: Batch) -> Batch:
        zero = torch.zeros_like(batch.behavior)
        log_ratio = torch.where(batch.mask, batch.stream("old") - batch.behavior, zero).detach()
        raw = self.level(batch, log_ratio).clamp(-LIMIT, LIMIT).exp()  # [N]
        raw = torch.where(batch.mask, raw, zero)
        return batch.put(correction=raw.clamp(max=self.cap), correction_raw=raw)
