"""Learning from which of two completions is better, without a reward in between.

Functions take one number per pair, [P] in and [P] out. h = [log pi - log ref](chosen) - [log pi - log ref](rejected),
each summed over the completion's tokens unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from guerdon.advantages.group import TOLERANCE
from guerdon.advantages.segments import Paths, paths
from guerdon.losses.base import PerGroup, reads
from guerdon.losses.policy import on_mask
from guerdon.types import Batch


def dpo(h: Tensor, beta: float, smoothing: float = 0.0) -> Tensor:
    """-(1 - e) log sigmoid(beta h) - e log sigmoid(-beta h) (DPO, Rafailov et al. 2023, eq. 7; conservative form by
    Mitchell 2023), e = smoothing in [0, 0.5): the share of labels taken to be flipped. At h=0: ln 2. [P]"""
    return -(1 - smoothing) * logsigmoid(beta * h) - smoothing * logsigmoid(-beta * h)


def ipo(h: Tensor, beta: float) -> Tensor:
    """(h - 1 / (2 beta))^2 (IPO, Azar et al. 2024, eq. 17). h=0, beta=0.1: 25. [P]"""
    return (h - 1 / (2 * beta)).square()


def simpo(chosen: Tensor, rejected: Tensor, beta: float, margin: float) -> Tensor:
    """-log sigmoid(beta (chosen - rejected) - margin) (SimPO, Meng et al. 2024, eq. 6), no reference.

    chosen, rejected: mean log-probability per token [P]. beta 2, margin 1, means -0.5 and -1: ln 2.
    """
    return -logsigmoid(beta * (chosen - rejected) - margin)


def log_odds_ratio(chosen: Tensor, rejected: Tensor) -> Tensor:
    """log of odds(chosen) / odds(rejected), odds(p) = p / (1 - p), p = exp of the mean log-probability (< 0). [P]

    Means -1 and -1.5: 0.706193. A mean above -1e-6 counts as that: certainty has infinite odds.
    """
    chosen, rejected = chosen.clamp(max=-CERTAIN), rejected.clamp(max=-CERTAIN)
    return (chosen - rejected) - (torch.log(-torch.expm1(chosen)) - torch.log(-torch.expm1(rejected)))


CERTAIN = 1e-6


def orpo(chosen: Tensor, rejected: Tensor, nll: Tensor, beta: float) -> Tensor:
    """nll - beta log sigmoid(log odds ratio) (ORPO, Hong et al. 2024, eq. 6-7), nll of the chosen completion. [P]"""
    return nll - beta * logsigmoid(log_odds_ratio(chosen, rejected))


def kto(
    log_ratios: Tensor, desirable: Tensor, anchor: Tensor, beta: float, good: float = 1.0, bad: float = 1.0
) -> Tensor:
    """Unpaired: good (1 - sigmoid(beta (rho - z))) or bad (1 - sigmoid(beta (z - rho))) (KTO, Ethayarajh et al. 2024,
    eq. 8). [B]

    log_ratios: rho = log pi - log ref of each completion [B]; desirable: [B] bool; anchor: see `kto_anchor`.
    beta 0.1, z 0.5, rho 1.5 (desirable) or -0.5 (not): 0.475021.
    """
    gain = beta * (log_ratios - anchor)
    return torch.where(desirable, good * torch.sigmoid(-gain), bad * torch.sigmoid(gain))


def kto_anchor(mismatched: Tensor) -> Tensor:
    """z = max(0, mean log-ratio of completions put after other prompts than their own), without gradient. [B] -> []"""
    return mismatched.mean().clamp(min=0).detach()


Level = Callable[[Paths, Batch, Tensor], Tensor]
"""(paths, batch, values [N], 0 off the mask) -> one number per sequence [S]."""


def token_sum(found: Paths, batch: Batch, values: Tensor) -> Tensor:
    """Sum over the actions of each sequence: the log-probability of the whole completion. [N] -> [S]"""
    return found.sequences.sum(values)


def token_average(found: Paths, batch: Batch, values: Tensor) -> Tensor:
    """Mean over the actions of each sequence, so that length does not enter. [N] -> [S]"""
    return found.sequences.masked_mean(values, batch.mask)


def direction(found: Paths) -> Tensor:
    """+1 for the better and -1 for the worse path of each group of two, 0 for both where they tie. [S] float64

    A tie is a difference of at most 2 * TOLERANCE * max(1, max |R|), as in `advantages.group`.
    """
    size = found.groups.size()
    if not bool((size == 2).all()):
        wrong = int((size != 2).nonzero()[0])
        raise ValueError(
            f"a preference loss needs groups of two sequences, the better with the higher return; group number {wrong} "
            f"has {int(size[wrong])}. Use `Pair.group`, or a filter that picks two completions of each group"
        )
    gap = found.returns - found.groups.spread(found.groups.mean(found.returns))
    scale = found.groups.spread(found.groups.max(found.returns.abs()).clamp(min=1))
    return torch.where(gap.abs() > TOLERANCE * scale, gap.sign(), torch.zeros_like(gap))


LEVELS: dict[str, Level] = {"sum": token_sum, "mean": token_average}
"""Levels by the word that a command line has for them."""

Aggregate = Literal["sum", "mean"]
"""How the log-ratios of a completion's tokens become one number: their sum, or their mean."""


@dataclass(frozen=True)
class Contrast:
    """The better against the worse sequence of each of P groups of two.

    sign: +1, -1, or 0 for both of a tied pair [S]. untied: [P] bool.
    """

    found: Paths
    sign: Tensor
    untied: Tensor

    def chosen(self, values: Tensor) -> Tensor:
        """The value of the better sequence of each pair; 0 where they tie. [S] -> [P]"""
        return self.found.groups.sum(torch.where(self.sign > 0, values, torch.zeros_like(values)))

    def rejected(self, values: Tensor) -> Tensor:
        """The value of the worse sequence of each pair; 0 where they tie. [S] -> [P]"""
        return self.found.groups.sum(torch.where(self.sign < 0, values, torch.zeros_like(values)))

    def margin(self, values: Tensor) -> Tensor:
        """Better minus worse. [S] -> [P]"""
        return self.found.groups.sum(self.sign.to(values.dtype) * values)

    def tell(self, loss: Tensor, batch: Batch) -> Tensor:
        """The loss of each pair on each of its actions; 0, and no gradient, where the pair ties. [P] -> [N]"""
        told = torch.where(self.untied, loss, torch.zeros_like(loss))
        return on_mask(self.found.sequences.spread(self.found.groups.spread(told)), batch)


def contrast(batch: Batch) -> Contrast:
    """Which of each two sequences is the better one: that with the higher return. ValueError for other groups."""
    found = paths(batch)
    sign = direction(found)
    return Contrast(found, sign, found.groups.sum(sign.abs()) > 0)


def log_ratios(out: Mapping[str, Tensor], batch: Batch) -> Tensor:
    """log pi - log ref of each action, 0 elsewhere. [N]"""
    return on_mask(out["logp"], batch) - on_mask(batch.stream("ref"), batch)


@dataclass(frozen=True)
class DPO(PerGroup):
    """The loss of `dpo` on each token of a group of two; with `group_mean` each pair counts once.

    Chosen is the sequence with the higher return; a tied pair has loss 0 and no gradient. level: `token_sum` (the
    paper) or `token_average` (length-normalised).
    """

    beta: float = 0.1
    smoothing: float = 0.0
    level: Level = token_sum
    needs = reads("ref")

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        pairs = contrast(batch)
        h = pairs.margin(self.level(pairs.found, batch, log_ratios(out, batch)))  # [P]
        return pairs.tell(dpo(h, self.beta, self.smoothing), batch)  # [N]
