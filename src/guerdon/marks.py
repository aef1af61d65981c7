"""Numbers that belong to an episode, as streams of its batch: the subgroup that a pair is of, a judge's opinion."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from guerdon.advantages.segments import Paths
from guerdon.types import Batch, Episode

if TYPE_CHECKING:
    from torch import Tensor


def mark(episode: Episode, **numbers: float) -> Episode:
    """The episode with these numbers as streams: on every token that is learned from, 0 on all others."""
    spans = [replace(one, extra={**one.extra, **numbers}) if one.sampled else one for one in episode.spans]
    return replace(episode, spans=spans)


def marked(found: Paths, batch: Batch, name: str) -> Tensor:
    """The number that each sequence was marked with, as float64; 0 where no episode of the batch has one. [S]"""
    if not batch.has(name):
        return batch.reward.new_zeros(found.sequences.count).double()
    return found.sequences.masked_mean(batch.stream(name).double(), batch.mask)
