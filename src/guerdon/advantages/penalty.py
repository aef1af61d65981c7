"""Penalties that are taken from the reward, so that they reach earlier actions through the return."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from guerdon.advantages.base import Reads
from guerdon.losses.base import reads
from guerdon.losses.policy import old_logp
from guerdon.types import Batch


@dataclass(frozen=True)
class KLPenalty(Reads):
    """r_t <- r_t - beta (log pi_old - log pi_ref) on actions (Ziegler et al. 2019, eq. 2).

    In expectation this descends the reverse KL of whole sequences, KL(policy || reference). Run it before whatever
    turns rewards into advantages.
    """

    beta: float
    needs = reads("ref")

    def __call__(self, batch: Batch) -> Batch:
        difference = old_logp(batch) - batch.stream("ref")  # [N]
        penalty = torch.where(batch.mask, difference, torch.zeros_like(difference))
        return batch.put(reward=batch.reward - self.beta * penalty)
