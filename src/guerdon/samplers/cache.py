"""Keys and values of the rows being decoded: one preallocated tensor per layer, every row at its own length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

KeysValues = list[tuple[Tensor, Tensor]]
"""One (keys, values) pair per layer, each [heads, length, head_dim]."""

_GRAIN = 16
"""Lengths are reserved in multiples of this many positions."""


@dataclass
class _Step:
    """Where one decode step writes and how far it reads: rows [R], positions [R], and the longest row's length.

    level: whether all rows are as long as the longest.
    """

    rows: Tensor
    positions: Tensor
    length: int
    level: bool


class _SlotLayer(CacheLayerMixin):
    """One layer's keys and values, [rows, heads, capacity, head_dim]. Unwritten cells are zero, hence finite."""

    is_sliding = False
    step: _Step

    def reserve(self, rows: int, length: int, like: Tensor, like_values: Tensor) -> None:
        """Make room; what was written stays. `like`: [heads, length, head_dim] states of this layer."""
        self.keys = _grown(self.keys, rows, length, like)
        self.values = _grown(self.values, rows, length, like_values)
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Write one new position per row ([R, heads, 1, head_dim]); returns all that the longest row may read."""
        keys, values, step = self._keys(), self._values(), self.step
        rows = key_states.shape[0]
        if step.level:  # a slice is written several times as fast
            keys[:rows, :, step.length - 1] = key_states[:, :, 0]
            values[:rows, :, step.length - 1] = value_states[:, :, 0]
        else:
            keys[step.rows, :, step.positions] = key_states[:, :, 0]
            values[step.rows, :, step.positions] = value_states[:, :, 0]
        return keys[:rows, :, : step.length], values[:rows, :, : step.length]

    def put(self, slots: Tensor, keys: Tensor, values: Tensor) -> None:
        self._keys()[slots, :, : keys.shape[-2]] = keys
        self._values()[slots, :, : values.shape[-2]] = values

    def move(self, source: int, target: int, length: int) -> None:
        for tensor in (self._keys(), self._values()):
            tensor[target, :, :length] = tensor[source, :, :length]

    def _keys(self) -> Tensor:
        assert self.keys is not None
        return self.keys

    def _values(self) -> Tensor:
        assert self.values is not None
        return self.values

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        raise RuntimeError("rows are reserved before a decode step; this cache cannot be filled by a forward pass")

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.step.length, 0

    def get_seq_length(self) -> int:
        return self.step.length - 1

    def get_max_length(self) -> int:
        return -1


class SlotCache(Cache):
    """The transformers cache of a decode step over rows 0..R-1.

    Rows are kept dense (whoever schedules them moves the last row into a hole), so that a step reads a plain view of
    the storage and copies nothing.
    """

    def __init__(self, layers: int) -> None:
        self.slots: list[_SlotLayer] = [_SlotLayer() for _ in range(layers)]  # type: ignore[no-untyped-call]
        super().__init__(layers=list(self.slots))
        self._rows = 0
        self._capacity = 0

    def make_room(self, rows: int, length: int, like: KeysValues) -> None:
        """Rows 0..rows-1 are about to be filled, and to reach this length soon: grow once, not bit by bit."""
        self._reserve(rows, length, like)

    def put(self, slots: Sequence[int], states: KeysValues) -> None:
        """Copy one sequence's keys and values into each of these rows."""
        length = states[0][0].shape[-2]
        self._reserve(max(slots) + 1, length, states)
        index = torch.tensor(slots, device=states[0][0].device)
        for layer, (keys, values) in zip(self.slots, states, strict=True):
            layer.put(index, keys, values)

    def move(self, source: int, target: int, length: int) -> None:
        """Copy the first `length` positions of row `source` over row `target`."""
        for layer in self.slots:
            layer.move(source, target, length)

    def begin(self, positions: Tensor, length: int) -> None:
        """Announce a step: row i writes at positions[i] ([R]) and nobody reads at or beyond `length`."""
        if length > self._capacity:
            first = [(layer._keys()[0], layer._values()[0]) for layer in self.slots]
            self._reserve(self._rows, length, first)
        level = bool((positions == length - 1).all())
        step = _Step(torch.arange(positions.shape[0], device=positions.device), positions, length, level)
        for layer in self.slots:
            layer.step = step

    def _reserve(self, rows: int, length: int, like: KeysValues) -> None:
        if rows <= self._rows and length <= self._capacity:
            return
        if rows > self._rows:
            self._rows = max(rows, 2 * self._rows)
        if length > self._capacity:
            self._capacity = -(-max(length + 1, self._capacity * 3 // 2) // _GRAIN) * _GRAIN
        for layer, (keys, values) in zip(self.slots, like, strict=True):
            layer.reserve(self._rows, self._capacity, keys, values)


def _grown(old: Tensor | None, rows: int, length: int, like: Tensor) -> Tensor:
    heads, _, width = like.shape
    new = torch.zeros(rows, heads, length, width, dtype=like.dtype, device=like.device)
    if old is not None:
        new[: old.shape[0], :, : old.shape[2]] = old
    return new
