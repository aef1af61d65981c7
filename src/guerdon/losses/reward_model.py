"""Learning a reward from what people said: which of two is better, how good one is, which step is right.

Functions take one number per pair, reply or step. Classes read the score of a head from the likelihood `Scores`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from guerdon.advantages.segments import Paths, Segments, paths
from guerdon.data.columns import column
from guerdon.data.steps import LABEL
from guerdon.losses.base import PerGroup, PerToken, reads
from guerdon.losses.policy import on_mask
from guerdon.losses.preference import direction
from guerdon.marks import marked
from guerdon.types import Batch


def bradley_terry(difference: Tensor, margin: Tensor | float = 0.0, smoothing: Tensor | float = 0.0) -> Tensor:
    """-(1 - e) log sigmoid(d - m) - e log sigmoid(-(d - m)), d = r_chosen - r_rejected (Bradley & Terry 1952). [P]

    margin: m >= 0, by how much chosen is better. smoothing: e in [0, 1], how probable a wrong label is: one
    for all pairs, or 1 - p of a soft label p. d = 1: 0.3132617; with m = 0.5: 0.4740770; d = m: ln 2.
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
    takes away the free constant of each prompt. smoothing: the share of labels taken to be flipped, in [0, 0.5).
    soft: a column with p, the probability that chosen is preferred; None: 1.
    """

    head: str = "score"
    margins: bool = False
    centring: float = 0.0
    smoothing: float = 0.0
    soft: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.smoothing < 0.5:
            raise ValueError(f"smoothing is {self.smoothing}; expected a share from 0 to below 0.5")
        if self.centring < 0:
            raise ValueError(f"centring is {self.centring}; expected 0 or more")

    @property
    def needs(self) -> Sequence[str]:  # type: ignore[override]
        return (column(self.soft),) if self.soft else ()

    @property
    def wants(self) -> Sequence[str]:  # type: ignore[override]
        return (self.head,)

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        found = paths(batch)
        scores = at_last(found.sequences, out[self.head], batch.mask)  # [S]
        sign = direction(found).to(scores.dtype)
        margin = found.groups.sum(sign * found.returns.to(scores.dtype)) if self.margins else 0.0
        loss = bradley_terry(found.groups.sum(sign * scores), margin, self._flipped(found, batch, scores))
        loss = loss + self.centring * found.groups.sum(scores).square()
        untied = found.groups.sum(sign.abs()) > 0
        loss = torch.where(untied, loss, torch.zeros_like(loss))
        return on_mask(found.sequences.spread(found.groups.spread(loss)), batch)  # [N]

    def _flipped(self, found: Paths, batch: Batch, like: Tensor) -> Tensor | float:
        """How probable it is that a pair's label is wrong: by its soft label, and by smoothing on top."""
        if self.soft is None:
            return self.smoothing
        right = found.groups.mean(marked(found, batch, column(self.soft))).to(like.dtype)  # [P]
        if bool(((right < 0) | (right > 1)).any()):
            raise ValueError(f"the column {self.soft!r} has {float(right.max()):g}; expected probabilities, 0 to 1")
        return (1 - right) * (1 - self.smoothing) + right * self.smoothing


@dataclass(frozen=True)
class PlackettLuce(PerGroup):
    """The loss of `plackett_luce` on each token of a group ranked by its returns; with `group_mean` each group counts
    once. Replies with equal returns are each other's rivals for the same place (Breslow's way with ties)."""

    head: str = "score"

    @property
    def wants(self) -> Sequence[str]:  # type: ignore[override]
        return (self.head,)

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        found = paths(batch)
        scores = at_last(found.sequences, out[self.head], batch.mask)  # [S]
        rivals = _together(found) & (found.returns[None, :] <= found.returns[:, None])
        later = torch.where(rivals, scores[None, :], -torch.inf).logsumexp(1)
        return on_mask(found.sequences.spread(found.groups.spread(found.groups.sum(later - scores))), batch)  # [N]


@dataclass(frozen=True)
class AllPairs(PerGroup):
    """The mean of `bradley_terry` over the untied pairs of a group ranked by its returns (Ouyang et al. 2022, eq. 1),
    on each token of the group; with `group_mean` each group counts once."""

    head: str = "score"

    @property
    def wants(self) -> Sequence[str]:  # type: ignore[override]
        return (self.head,)

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        found = paths(batch)
        scores = at_last(found.sequences, out[self.head], batch.mask)  # [S]
        above = _together(found) & (found.returns[:, None] > found.returns[None, :])
        lost = torch.where(above, bradley_terry(scores[:, None] - scores[None, :]), 0.0)
        loss = found.groups.sum(lost.sum(1)) / found.groups.sum(above.sum(1)).clamp(min=1)  # [G]
        return on_mask(found.sequences.spread(found.groups.spread(loss)), batch)  # [N]


def _together(found: Paths) -> Tensor:
    """[S, S] whether two sequences are of one group."""
    group = found.groups.index
    return group[:, None] == group[None, :]


@dataclass(frozen=True)
class SquaredError(PerToken):
    """(r - y)^2 / 2 on each token of a sequence; with `sequence_mean` each reply counts once.

    target: the column with y; None: the return.
    """

    head: str = "score"
    target: str | None = None

    @property
    def needs(self) -> Sequence[str]:  # type: ignore[override]
        return (column(self.target),) if self.target else ()

    @property
    def wants(self) -> Sequence[str]:  # type: ignore[override]
        return (self.head,)

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        found = paths(batch)
        scores = at_last(found.sequences, out[self.head], batch.mask)
        target = marked(found, batch, column(self.target)) if self.target else found.returns
        return on_mask(found.sequences.spread((scores - target.to(scores.dtype)).square() / 2), batch)


@dataclass(frozen=True)
class StepCrossEntropy(PerToken):
    """-y log p - (1 - y) log(1 - p), p = sigmoid(score), on each token that is learned; y: the stream `label`, 0 to 1.

    In replies as `data.steps.in_steps` writes them that is the last token of each step; with `token_mean` each step
    counts once. score 0: ln 2.
    """

    head: str = "score"
    needs = reads(LABEL)

    @property
    def wants(self) -> Sequence[str]:  # type: ignore[override]
        return (self.head,)

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        label = batch.stream(LABEL).to(out[self.head].dtype)
        return binary_cross_entropy_with_logits(out[self.head], label, reduction="none")
