"""Learning a reward from what people said: which of two is better, how good one is, which step is right.

Functions take one number per pair, reply or step. Classes read the score of a head from the likelihood `Scores`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from guerdon.advantages.segments import Segments, paths
from guerdon.losses.base import PerGroup, PerToken
from guerdon.losses.policy import on_mask
from guerdon.losses.preference import direction
from guerdon.method import Unit
from guerdon.types import Batch


def bradley_terry(difference: Tensor, margin: Tensor | float = 0.0, smoothing: float = 0.0) -> Tensor:
    """-(1 - e) log sigmoid(d - m) - e log sigmoid(-(d - m)), d = r_chosen - r_rejected (Bradley & Terry 1952). [P]

    margin: m >= 0, by how much better chosen is. smoothing: e, the share of labels taken to be flipped, in [0, 0.5).
    d = 1: 0.3132617; with m = 0.5: 0.4740770; d = m: ln 2.
    """
    d = difference - margin
    return -(1 - smoothing) * logsigmoid(d) - smoothing * logsigmoid(-d)


def plackett_luce(scores: Tensor) -> Tensor:
    """-sum_k log(exp r_(k) / sum_{j >= k} exp r_(j)) of scores [.., K] in order from best to worst (Plackett 1975).

    With K = 2 it is `bradley_terry`.
    """
    later = torch.logcumsumexp(scores.flip(-1), -1).flip(-1)
    return (later - scores)[..., :-1].sum(-1)


def at_last(sequences: Segments, values: Tensor, mask: Tensor) -> Tensor:
    """The value at the last token on the mask of each sequence. values, mask: [N] -> [S]"""
    rows = torch.arange(len(values), device=values.device)
    last = torch.full((sequences.count,), -1, device=values.device, dtype=torch.long)
    last = last.scatter_reduce(0, sequences.index, torch.where(mask, rows, -1), "amax")
    if bool((last < 0).any()):
        raise ValueError(f"sequence {int((last < 0).nonzero()[0])} has no token of a reply; expected at least one")
    return values[last]


@dataclass(frozen=True)
class BradleyTerry(PerGroup):
    """The loss of `bradley_terry` on each token of a group of two; with `group_mean` each pair counts once.

    Chosen is the sequence with the higher return; a tied pair has loss 0 and no gradient. margins: the returns differ
    by the margin that chosen should win by (`Pair.margin`). centring: lambda (r_chosen + r_rejected)^2 is added, which
    takes away the free constant of each prompt.
    """

    head: str = "score"
    margins: bool = False
    centring: float = 0.0
    smoothing: float = 0.0

    @property
    def wants(self) -> Sequence[str]:  # type: ignore[override]
        return (self.head,)

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        found = paths(batch)
        scores = at_last(found.sequences, out[self.head], batch.mask)  # [S]
        sign = direction(found).to(scores.dtype)
        margin = found.groups.sum(sign * found.returns.to(scores.dtype)) if self.margins else 0.0
        loss = bradley_terry(found.groups.sum(sign * scores), margin, self.smoothing)
        loss = loss + self.centring * found.groups.sum(scores).square()
        untied = found.groups.sum(sign.abs()) > 0
        loss = torch.where(untied, loss, torch.zeros_like(loss))
        return on_mask(found.sequences.spread(found.groups.spread(loss)), batch)  # [N]


@dataclass(frozen=True)
class SquaredError(PerToken):
    """(r - return)^2 / 2 on each token of a sequence; with `sequence_mean` each reply counts once."""

    head: str = "score"

    @property
    def wants(self) -> Sequence[str]:  # type: ignore[override]
        return (self.head,)

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        found = paths(batch)
        scores = at_last(found.sequences, out[self.head], batch.mask)
        return on_mask(found.sequences.spread((scores - found.returns.to(scores.dtype)).square() / 2), batch)


@dataclass(frozen=True)
class StepCrossEntropy(PerToken):
    """Binary cross-entropy of sigmoid(score) with the stream `label` at the tokens of the mask `labelled`.

    For process reward models: the last token of each step, 1 where the step is right. Give the term `mask="labelled"`.
    """

    head: str = "score"
    needs = ("label", "labelled")
    unit: Unit = "sequence"

    @property
    def wants(self) -> Sequence[str]:  # type: ignore[override]
        return (self.head,)

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        return binary_cross_entropy_with_logits(out[self.head], batch.stream("label"), reduction="none")
