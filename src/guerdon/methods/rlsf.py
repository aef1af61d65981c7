"""RLSF: of several chains of thought the one whose answer the model is surer of is the better.

    c_i = mean over the answer's tokens in beam i of p(token) - p(second likeliest token)
    P   = {(i, j): c_i > c_j, c_i >= tau},  beams of one prompt
    L   = mean over P of -log sigmoid(beta (h_i - h_j)),  h = log(pi / ref) of a beam, summed over its tokens

A group is the beams of a prompt (`rollouts.beams`); no answer, judge or verifier takes part. `preferences` gives the
same pairs with the margin exp(c_i - c_j), from which a reward model can be learned (`guerdon train bradley_terry`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp
from typing import Annotated, Any

import torch
from torch import Tensor

from guerdon.advantages.group import TOLERANCE
from guerdon.advantages.segments import Paths, paths
from guerdon.losses.base import PerGroup, reads
from guerdon.losses.policy import on_mask
from guerdon.losses.preference import dpo, log_ratios
from guerdon.method import Card, Method, Role, Term
from guerdon.reduce import group_mean
from guerdon.rollouts.beams import CONFIDENCE, CUE, Beams, Confidence
from guerdon.types import Batch, Group, Pair

CARD = Card(
    slug="rlsf",
    name="RLSF",
    family="preference",
    paper="van Niekerk et al. 2025, Post-training large language models via reinforcement learning from self-feedback, "
    "arXiv:2507.21931",
    summary="Beams ranked by how sure the model is of their answer make preferences to learn from, without any label.",
    differs="All pairs of a prompt are learned from at once, each beam going through the model once.",
)

DEFAULTS = {"samples_per_prompt": 5}


@dataclass(frozen=True)
class RankedDPO(PerGroup):
    """The mean of `dpo` over a group's pairs, on each of its tokens; with `pair_mean` each pair of the batch counts
    once. The returns are the confidences."""

    beta: float = 0.2
    tau: float = 0.9
    needs = reads("ref")

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        found = paths(batch)
        h = found.sequences.sum(log_ratios(out, batch))  # [S]
        better, worse = ordered(found, self.tau)
        loss = dpo(h[better] - h[worse], self.beta)  # [P]
        group = found.groups.index[better]
        per_group = h.new_zeros(found.groups.count).index_add(0, group, loss) / pair_count(found, self.tau).clamp(min=1)
        return on_mask(found.sequences.spread(found.groups.spread(per_group)), batch)

    def diagnostics(self, out: Mapping[str, Tensor], batch: Batch) -> dict[str, Tensor]:
        """What is reported beside the loss: how many pairs a prompt yields."""
        found = paths(batch)
        count = pair_count(found, self.tau).to(batch.reward.dtype)
        return {"pairs": found.sequences.spread(found.groups.spread(count))}


@dataclass(frozen=True)
class pair_mean:  # noqa: N801 - reads as one of the functions of `reduce`
    """Mean over the pairs of all groups of a loss that is a group's mean over its pairs."""

    tau: float = 0.9

    def __call__(self, batch: Batch, mask: Tensor) -> Tensor:
        found = paths(batch)
        count = pair_count(found, self.tau).to(batch.share.dtype)
        share = count / count.mean().clamp(min=1e-30)
        return group_mean(batch, mask) * found.sequences.spread(found.groups.spread(share))


def ordered(found: Paths, tau: float) -> tuple[Tensor, Tensor]:
    """Sequences (better, worse) of every pair: of one group, c_better > c_worse, c_better >= tau. [P], [P]"""
    c, group = found.returns, found.groups.index
    above = c[:, None] - c[None] > 2 * TOLERANCE
    pairs = (above & (group[:, None] == group[None]) & (c[:, None] >= tau - TOLERANCE)).nonzero()
    return pairs[:, 0], pairs[:, 1]


def pair_count(found: Paths, tau: float) -> Tensor:
    """Pairs of each group. [G]"""
    return torch.bincount(found.groups.index[ordered(found, tau)[0]], minlength=found.groups.count)


@dataclass(frozen=True)
class Confident:
    """Keeps beams that say something, and groups that have a pair."""

    tau: float

    def __call__(self, group: Group) -> Group | None:
        said = [episode for episode in group if episode.reply.strip()]
        return said if preferences(said, self.tau) else None


def preferences(group: Group, tau: float = 0.9) -> list[Pair]:
    """Every pair of a group of beams, with the margin exp(c_better - c_worse), at least 1."""
    sure = [(one.scores[CONFIDENCE].value or 0.0, one) for one in group]
    return [
        Pair(better, worse, exp(c - d))
        for c, better in sure
        for d, worse in sure
        if c - d > 2 * TOLERANCE and c >= tau - TOLERANCE
    ]


def as_row(pair: Pair) -> dict[str, Any]:
    """A pair as a row of a file of preferences."""
    task = pair.chosen.task
    return {"prompt": task.prompt, "chosen": pair.chosen.reply, "rejected": pair.rejected.reply, "margin": pair.margin}


def rlsf(
    beta: float = 0.2,
    tau: Annotated[float, "least confidence of the better beam of a pair, -1 to 1"] = 0.9,
    cue: Annotated[str, "what is put after a beam to have its answer; empty: all of it is the answer"] = CUE,
    frozen: Annotated[bool, "the starting policy writes the beams, not the one that learns"] = True,
    last: Annotated[bool, "the last mention of the answer counts, not the first"] = False,
    epochs: int = 1,
    minibatches: int = 1,
) -> Method:
    """The equation is at the top of the file. With frozen off, confidence feeds on itself round by round."""
    settings = dict(locals())
    return Method(
        terms=(Term(RankedDPO(beta, tau), pair_mean(tau), name="preference"),),
        rollout=Beams("ref" if frozen else "policy", cue, last=last),
        rewards=(Confidence(),),
        filters=(Confident(tau),),
        roles={"ref": Role()},
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )
