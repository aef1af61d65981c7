"""ODIN: one head takes in the liking for length, so that the other is free of it.

    r_Q = w_Q . h,  r_L = w_L . h,  both w centred and of norm 1; h at the last token; |y| tokens of the reply
    L = mean over pairs of -log sigmoid((r_Q + r_L)(y_c) - (r_Q + r_L)(y_r))
        + lambda_L (|rho(r_Q, |y|)| - rho(r_L, |y|) [+ |rho(r_Q + r_L, |y|)|]) + lambda_O |cos(w_Q, w_L)|

rho is Pearson's correlation over all replies of the batch. Only r_Q is a reward afterwards.

The correlations are of the whole batch, however it is cut: the scores of all replies are computed first, and each
reply is then given its part of the gradient, d rho / d r, as a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from guerdon.advantages.segments import Paths, paths
from guerdon.likelihoods.scores import OVERLAP
from guerdon.losses.base import PerGroup, PerToken, reads
from guerdon.losses.correlation import pearson
from guerdon.losses.policy import on_mask
from guerdon.losses.reward_model import BradleyTerry, at_last
from guerdon.method import Card, Heads, Method, Term
from guerdon.reduce import group_mean, sequence_mean
from guerdon.types import Batch

CARD = Card(
    slug="odin",
    name="ODIN",
    family="reward",
    paper="Chen et al. 2024, ODIN: Disentangled reward mitigates hacking in RLHF, arXiv:2402.07319",
    summary="A reward model of two heads, of which one correlates with length and the other, the reward, does not.",
    differs="Length is that of the reply, not of prompt and reply; what is saved is the head as it was trained, "
    "centred and of norm 1. The third correlation, that of the sum, is of the authors' code and off by default.",
)

QUALITY, LENGTH = "quality", "length"
PULL = "length_pull"
"""Stream [N, 2]: on each token of a reply its part of the length loss's gradient, by head, times the replies."""
VALUE = "length_loss"
"""Stream [N]: the length loss of the whole batch, on each token of a reply."""
CORRELATION = "length_correlation"
"""Stream [N]: rho(r_Q, |y|) of the whole batch, on each token of a reply."""


def length_loss(quality: Tensor, length: Tensor, tokens: Tensor, of_sum: bool = False) -> Tensor:
    """|rho(r_Q, |y|)| - rho(r_L, |y|), and |rho(r_Q + r_L, |y|)| besides where `of_sum`. [S] each -> [], -1 to 2

    r_Q = (1, -1, 1, -1), r_L = (1, 2, 3, 4), lengths (10, 20, 30, 40): -0.5528.
    """
    loss = pearson(quality, tokens).abs() - pearson(length, tokens)
    return loss + pearson(quality + length, tokens).abs() if of_sum else loss


@dataclass(frozen=True)
class LengthPull:
    """Puts PULL, VALUE and CORRELATION, from the scores of the whole batch as it stands before the gradient step."""

    of_sum: bool = False
    needs = reads(QUALITY, LENGTH)
    min_group = 1

    def __call__(self, batch: Batch) -> Batch:
        found = paths(batch)
        quality, length = (self._scores(found, batch, head) for head in self.needs)
        tokens = found.sequences.sum(batch.mask.double())
        loss = length_loss(quality, length, tokens, self.of_sum)
        pull = torch.stack(torch.autograd.grad(loss, (quality, length)), 1) * found.sequences.count  # [S, 2]
        rho = pearson(quality.detach(), tokens)
        streams = {
            PULL: (pull[found.sequences.index] * batch.mask[:, None]).to(batch.reward.dtype),
            VALUE: batch.mask * loss.detach().to(batch.reward.dtype),
            CORRELATION: batch.mask * rho.to(batch.reward.dtype),
        }
        return batch.put(**streams)

    def _scores(self, found: Paths, batch: Batch, head: str) -> Tensor:
        return at_last(found.sequences, batch.stream(head), batch.mask).detach().double().requires_grad_()


@dataclass(frozen=True)
class SumRanked(PerGroup):
    """Bradley-Terry of the sum of both heads."""

    margins: bool = False
    smoothing: float = 0.0
    wants = reads(QUALITY, LENGTH)

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        ranked = BradleyTerry(margins=self.margins, smoothing=self.smoothing)
        return ranked({ranked.head: out[QUALITY] + out[LENGTH]}, batch)


@dataclass(frozen=True)
class LengthCorrelation(PerToken):
    """The length loss of the batch on each token, with each reply's part of its gradient; a mean over sequences."""

    needs = reads(PULL, VALUE, CORRELATION)
    wants = reads(QUALITY, LENGTH)

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        sequences = paths(batch).sequences
        pulls = at_last(sequences, batch.stream(PULL), batch.mask)  # [S, 2]
        moved = torch.zeros_like(pulls[:, 0])
        for place, head in enumerate((QUALITY, LENGTH)):
            score = at_last(sequences, out[head], batch.mask)
            moved = moved + pulls[:, place] * (score - score.detach())
        return batch.stream(VALUE) + on_mask(sequences.spread(moved), batch)

    def diagnostics(self, out: Mapping[str, Tensor], batch: Batch) -> dict[str, Tensor]:
        """What is reported beside the loss: the correlation of quality and length, in [-1, 1]."""
        return {"correlation": batch.stream(CORRELATION)}


@dataclass(frozen=True)
class Orthogonal(PerToken):
    """|cos| of the angle between the heads, on each token."""

    wants = reads(OVERLAP)

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        return out[OVERLAP]


def odin(
    length_weight: Annotated[float, "weight of the correlations with length; 0 is off"] = 1.0,
    orthogonal_weight: Annotated[float, "weight of what the heads have in common; 0 is off"] = 1.0,
    of_sum: Annotated[bool, "lower the correlation of the sum of both heads too"] = False,
    margins: bool = False,
    smoothing: float = 0.0,
) -> Method:
    """The equation is at the top of the file; length_weight is lambda_L, orthogonal_weight lambda_O.

    of_sum: the term in brackets. One gradient step per batch, since the correlations are of the batch as it was scored;
    a batch should hold some tens of replies, as two always correlate fully.
    """
    settings = dict(locals())
    terms = [Term(SumRanked(margins, smoothing), group_mean, name="reward_model")]
    if length_weight:
        terms.append(Term(LengthCorrelation(), sequence_mean, scale=length_weight, name="length"))
    if orthogonal_weight:
        terms.append(Term(Orthogonal(), sequence_mean, scale=orthogonal_weight, name="orthogonal"))
    return Method(
        terms=tuple(terms),
        estimator=LengthPull(of_sum),
        scores=Heads(names=(QUALITY, LENGTH), unit_norm=True),
        settings=settings,
    )
