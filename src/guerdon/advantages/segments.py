"""Sums, means and layouts over ids: sequences, groups, and the actions of each sequence.

Statistics are taken in float64, so that equal rewards have exactly equal returns whatever their float32 rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from guerdon.types import Batch

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Segments:
    """Which of `count` segments each of N rows belongs to; ids need be neither dense nor sorted."""

    index: Tensor  # [N] in 0..count-1
    count: int

    def sum(self, values: Tensor) -> Tensor:
        """Sum of each segment's rows, differentiable. [N] -> [count]"""
        return values.new_zeros(self.count).index_add(0, self.index, values)

    def mean(self, values: Tensor) -> Tensor:
        """Mean of each segment's rows. [N] -> [count]"""
        return self.sum(values) / self.size().to(values.dtype)

    def masked_mean(self, values: Tensor, mask: Tensor) -> Tensor:
        """Mean of each segment's rows on the mask; 0 for a segment without any. [N] -> [count]"""
        inside = torch.where(mask, values, torch.zeros_like(values))
        return self.sum(inside) / self.sum(mask.to(values.dtype)).clamp(min=1)

    def size(self) -> Tensor:
        """Rows of each segment. [count]"""
        return torch.bincount(self.index, minlength=self.count)

    def max(self, values: Tensor) -> Tensor:
        """Largest row of each segment. [N] -> [count]"""
        start = torch.full((self.count,), -torch.inf, dtype=values.dtype, device=values.device)
        return start.scatter_reduce(0, self.index, values, "amax")

    def spread(self, values: Tensor) -> Tensor:
        """Each segment's value on all of its rows. [count] -> [N]"""
        return values[self.index]


def segments(ids: Tensor) -> Segments:
    """Segments of equal ids, in ascending order of id. ids: [N]"""
    unique, index = torch.unique(ids, return_inverse=True)
    return Segments(index, len(unique))


@dataclass(frozen=True)
class Paths:
    """The S sequences of a batch: their returns and which group each belongs to."""

    sequences: Segments  # N rows in S sequences
    groups: Segments  # S sequences in G groups
    returns: Tensor  # [S] float64

    def spread(self, values: Tensor, batch: Batch) -> Tensor:
        """Each sequence's value on its actions, 0 elsewhere, in the dtype of rewards. [S] -> [N]"""
        rows = self.sequences.spread(values).to(batch.reward.dtype)
        return torch.where(batch.mask, rows, torch.zeros_like(rows))


def paths(batch: Batch) -> Paths:
    """Returns and groups of the sequences of a batch, in ascending order of sequence id."""
    sequences = segments(batch.seq)
    first = torch.full((sequences.count,), len(batch), device=batch.seq.device)
    rows = torch.arange(len(batch), device=batch.seq.device)
    first = first.scatter_reduce(0, sequences.index, rows, "amin")  # [S]
    return Paths(sequences, segments(batch.group[first]), sequences.sum(batch.reward.double()))


@dataclass(frozen=True)
class Actions:
    """Where the trainable tokens of each sequence lie in a left-aligned [S, L] table.

    Masked tokens are transparent: they take the column of the last action before them (of the first action where
    there is none before), which is where what they were rewarded with lands.
    """

    mask: Tensor  # [N] bool
    row: Tensor  # [N] sequence index
    column: Tensor  # [N]
    has_action: Tensor  # [N] bool: whether the row's sequence has any action
    shape: tuple[int, int]

    def collect(self, rewards: Tensor) -> Tensor:
        """Rewards of all tokens, summed onto the actions they land on; 0 in the padding. [N] -> [S, L] float64"""
        table = torch.zeros(self.shape, dtype=torch.float64, device=rewards.device)
        keep = self.has_action
        return table.index_put((self.row[keep], self.column[keep]), rewards[keep].double(), accumulate=True)

    def gather(self, values: Tensor) -> Tensor:
        """Values of the actions alone; 0 in the padding. [N] -> [S, L] float64"""
        table = torch.zeros(self.shape, dtype=torch.float64, device=values.device)
        return table.index_put((self.row[self.mask], self.column[self.mask]), values[self.mask].double())

    def on_last(self, values: Tensor, like: Tensor) -> Tensor:
        """Each sequence's value on its last action, 0 elsewhere; lost for a sequence without action. [S] -> [N]"""
        count = torch.zeros(self.shape[0], dtype=torch.long, device=like.device)
        count = count.index_add(0, self.row, self.mask.long())
        last = self.mask & (self.column == count[self.row] - 1)  # [N]
        return torch.where(last, values[self.row].to(like.dtype), torch.zeros_like(like))

    def scatter(self, table: Tensor, like: Tensor) -> Tensor:
        """A table back onto the actions, 0 elsewhere, in the dtype of `like`. [S, L] -> [N]"""
        flat = torch.zeros_like(like)
        flat[self.mask] = table[self.row[self.mask], self.column[self.mask]].to(like.dtype)
        return flat


def actions(batch: Batch) -> Actions:
    """The table layout of a batch's trainable tokens (`mask`); rows of one sequence are in order."""
    sequences = segments(batch.seq)
    order = torch.argsort(sequences.index, stable=True)
    running = torch.empty_like(batch.seq)
    running[order] = batch.mask[order].long().cumsum(0)  # [N] actions so far, over all sequences
    count = sequences.sum(batch.mask.long())  # [S]
    before = count.cumsum(0) - count  # [S] actions of earlier sequences
    column = (running - sequences.spread(before) - 1).clamp(min=0)
    width = int(count.max()) if sequences.count else 0
    return Actions(batch.mask, sequences.index, column, sequences.spread(count) > 0, shape=(sequences.count, width))
