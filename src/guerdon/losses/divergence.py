"""Staying close to a reference: estimators of the Kullback-Leibler divergence, and a controller of its weight.

With d = log pi - log pi_ref of a token sampled from pi, E[k1] = E[k3] = KL(pi || ref), while E[k2] is only close to
it. As a loss their expected gradients differ: k1 gives 0, k2 gives that of KL(pi || ref), k3 that of KL(ref || pi).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from guerdon.losses.base import PerToken, reads
from guerdon.losses.policy import LIMIT, on_mask
from guerdon.types import Batch

if TYPE_CHECKING:
    from torch import Tensor

Divergence = Callable[["Tensor"], "Tensor"]
"""d = log pi - log pi_ref [N] -> estimate [N]."""


def k1(d: Tensor) -> Tensor:
    """d: unbiased, of either sign; no gradient in expectation. [N]"""
    return d


def k2(d: Tensor) -> Tensor:
    """d^2 / 2: slightly biased; its gradient is that of KL(pi || ref) in expectation. [N]"""
    return d.square() / 2


def k3(d: Tensor) -> Tensor:
    """exp(-d) - 1 + d: unbiased, never negative; its gradient is that of KL(ref || pi) in expectation. [N]"""
    return torch.expm1(-d) + d


@dataclass(frozen=True)
class KLToReference(PerToken):
    """KL to the stream `ref`, with the value of one estimator and the gradient of another (Schulman 2020).

    `value=k3, gradient=k3` is GRPO's term and pulls towards KL(ref || pi); `gradient=k2` descends KL(pi || ref).
    Both hold for tokens sampled from the current policy. `losses.policy.ImportanceWeighted(KLToReference())` descends
    KL(pi || ref) on fresh and on older ones. Sequences of groups without signal are trained on as well.
    """

    value: Divergence = k3
    gradient: Divergence = k3
    needs = reads("ref")

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        d = on_mask(out["logp"], batch) - on_mask(batch.stream("ref"), batch)
        d = d.clamp(-LIMIT, LIMIT)
        pulled = self.gradient(d)
        return pulled + (self.value(d) - pulled).detach()  # [N]


def adapt(beta: float, kl: float, target: float, n: int, horizon: int = 10_000) -> float:
    """beta (1 + clip(kl / target - 1, -0.2, 0.2) n / horizon) (Ziegler et al. 2019, section 2.2); n samples seen.

    beta 0.1, kl 12, target 6, n 256: 0.100512.
    """
    error = min(max(kl / target - 1, -0.2), 0.2)
    return beta * (1 + error * n / horizon)
