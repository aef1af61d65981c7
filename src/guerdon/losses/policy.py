"""Policy-gradient losses: how an advantage moves the log-probability of what was sampled.

Functions take ratios and advantages, [N] in and [N] out; the objectives below them read both from a batch. None takes
a mean: the reduction beside an objective in its `Term` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from guerdon.advantages.segments import segments
from guerdon.losses.base import PerToken, PolicyLoss
from guerdon.method import Objective
from guerdon.types import Batch

if TYPE_CHECKING:
    from torch import Tensor

LIMIT = 20.0
"""Log-ratios are held within +-LIMIT, so that their exponentials are finite."""


def old_logp(batch: Batch) -> Tensor:
    """Log-probabilities ratios are taken against: `old` where it was recomputed, else the sampler's own. [N]"""
    return batch.extra.get("old", batch.behavior)


def on_mask(values: Tensor, batch: Batch) -> Tensor:
    """The values of actions, 0 elsewhere, so that whatever stands on other tokens cannot reach a gradient. [N]"""
    return torch.where(batch.mask, values, torch.zeros_like(values))


def log_ratio(out: Mapping[str, Tensor], batch: Batch) -> Tensor:
    """log pi - log pi_old of each action, unlimited; 0 off the mask. [N]"""
    return on_mask(out["logp"], batch) - on_mask(old_logp(batch), batch)


def advantages(batch: Batch) -> Tensor:
    """Advantages of the actions, without gradient; 0 off the mask. [N]"""
    return on_mask(batch.stream("advantage"), batch).detach()


def clipped(ratio: Tensor, advantage: Tensor, low: float, high: float) -> Tensor:
    """max(-A rho, -A clip(rho, 1 - low, 1 + high)) (PPO, Schulman et al. 2017, eq. 7, negated). [N]

    A=1, rho=1.5, low=high=0.2: -1.2 with gradient 0 with respect to rho; A=-1: 1.5 with gradient 1.
    """
    return torch.maximum(-advantage * ratio, -advantage * ratio.clamp(1 - low, 1 + high))


def dual_clipped(ratio: Tensor, advantage: Tensor, low: float, high: float, bound: float) -> Tensor:
    """`clipped`, held below -A * bound where A < 0, bound > 1 (dual-clip PPO, Ye et al. 2020, eq. 4, negated). [N]"""
    loss = clipped(ratio, advantage, low, high)
    return torch.where(advantage < 0, torch.minimum(loss, -advantage * bound), loss)


def capped(logp: Tensor, ratio: Tensor, advantage: Tensor, low: float, high: float) -> Tensor:
    """-stopgrad(clip(rho, low, high)) A log pi (CISPO, MiniMax-M1 2025, eq. 4): no token loses its gradient. [N]

    low and high bound the ratio itself; low = 0 leaves it free below.
    """
    return -ratio.clamp(low, high).detach() * advantage * logp


@dataclass(frozen=True)
class PolicyGradient(PolicyLoss):
    """-A log pi (REINFORCE, Williams 1992): on-policy, no ratio."""

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        return -advantages(batch) * on_mask(out["logp"], batch)  # [N]


@dataclass(frozen=True)
class Clip(PolicyLoss):
    """The clipped surrogate with each token's own ratio; see `clipped`."""

    low: float = 0.2
    high: float = 0.2

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        ratio = log_ratio(out, batch).clamp(-LIMIT, LIMIT).exp()
        return clipped(ratio, advantages(batch), self.low, self.high)  # [N]


@dataclass(frozen=True)
class DualClip(PolicyLoss):
    """The clipped surrogate whose loss is bounded where the advantage is negative; see `dual_clipped`."""

    low: float = 0.2
    high: float = 0.2
    bound: float = 3.0

    def __post_init__(self) -> None:
        if not self.bound > 1:
            raise ValueError(f"the dual-clip bound is {self.bound}; expected more than 1, such as 3")

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        ratio = log_ratio(out, batch).clamp(-LIMIT, LIMIT).exp()
        return dual_clipped(ratio, advantages(batch), self.low, self.high, self.bound)  # [N]


@dataclass(frozen=True)
class SequenceRatioClip(PolicyLoss):
    """The clipped surrogate with the ratio of the whole sequence's probabilities, exp(sum of log-ratios), on each of
    its tokens. With `sequence_mean` each sequence counts once (RLOO as TRL has it)."""

    low: float = 0.2
    high: float = 0.2

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        sequences = segments(batch.seq)
        ratio = sequences.sum(log_ratio(out, batch)).clamp(-LIMIT, LIMIT).exp()  # [S]
        return on_mask(clipped(sequences.spread(ratio), advantages(batch), self.low, self.high), batch)  # [N]


@dataclass(frozen=True)
class MeanRatioClip(PolicyLoss):
    """The clipped surrogate with s = exp(mean log-ratio of the sequence's actions) on each of its tokens.

    GSPO (Zheng et al. 2025, eq. 5 and 7). With `sequence_mean` each sequence counts once.
    """

    low: float = 3e-4
    high: float = 4e-4

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        sequences = segments(batch.seq)
        ratio = sequences.masked_mean(log_ratio(out, batch), batch.mask).clamp(-LIMIT, LIMIT).exp()  # [S]
        return on_mask(clipped(sequences.spread(ratio), advantages(batch), self.low, self.high), batch)  # [N]


@dataclass(frozen=True)
class Capped(PolicyLoss):
    """The policy gradient weighted by the clipped, detached ratio; see `capped`."""

    low: float = 0.0
    high: float = 5.0

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        ratio = log_ratio(out, batch).clamp(-LIMIT, LIMIT).exp()
        return capped(on_mask(out["logp"], batch), ratio, advantages(batch), self.low, self.high)  # [N]


@dataclass(frozen=True)
class Corrected(PerToken):
    """Another objective, multiplied by the stream `correction` where the batch has one."""

    objective: Objective

    def __post_init__(self) -> None:
        for name in ("needs", "wants", "unit", "inert_without_advantage"):
            object.__setattr__(self, name, getattr(self.objective, name))

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        loss = self.objective(out, batch)
        if "correction" not in batch.extra:
            return loss
        return loss * on_mask(batch.extra["correction"], batch).detach()  # [N]


@dataclass(frozen=True)
class ImportanceWeighted(PerToken):
    """rho * f, rho = pi / pi_old of the token, for an objective f whose expectation under the current policy is the
    loss, such as a KL or entropy term: E_old[rho f] = E_pi[f], in value and in gradient.

    The gradient flows through rho as well. Not for policy losses, whose value is not what they descend.
    """

    objective: Objective

    def __post_init__(self) -> None:
        for name in ("needs", "unit"):
            object.__setattr__(self, name, getattr(self.objective, name))
        object.__setattr__(self, "wants", tuple(dict.fromkeys((*self.objective.wants, "logp"))))

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        return self.objective(out, batch) * log_ratio(out, batch).clamp(-LIMIT, LIMIT).exp()  # [N]
