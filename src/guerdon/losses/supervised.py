"""Learning from what somebody else wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guerdon.losses.base import PerToken
from guerdon.losses.policy import on_mask
from guerdon.types import Batch

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class NegativeLogLikelihood(PerToken):
    """-log pi of each token on the mask, in nats."""

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        return -on_mask(out["logp"], batch)  # [N]
