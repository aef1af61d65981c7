"""Completions of lengths that are given beforehand, out of transformers' `generate`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessor


class ExactLengths(LogitsProcessor):
    """Row i ends with its `wanted[i]`-th token: the end token is ruled out before, and is all that is left then.

    Rows of `limit` tokens are left to the limit of `generate` itself, where nothing needs to end them.
    """

    def __init__(self, module: Any, ends: Sequence[int], limit: int) -> None:
        self._ends, self._limit = torch.tensor(list(ends)), limit
        self._wanted = torch.zeros(0, dtype=torch.long)
        self._start: int | None = None
        module.generate = functools.partial(module.generate, logits_processor=[self])

    def next(self, wanted: Sequence[int]) -> None:
        """The next call of `generate` gives rows of these lengths."""
        self._wanted, self._start = torch.tensor(list(wanted)), None

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        if len(input_ids) != len(self._wanted):
            raise ValueError(f"{len(input_ids)} rows are generated, and lengths are given for {len(self._wanted)}")
        if self._start is None:
            self._start = input_ids.shape[1]
        place = input_ids.shape[1] - self._start + 1  # of the token that is drawn now, from 1
        ends = self._ends.to(scores.device)
        scores = scores.index_fill(1, ends, float("-inf"))
        last = ((self._wanted == place) & (self._wanted < self._limit)).nonzero().squeeze(1).to(scores.device)
        scores[last] = float("-inf")
        scores[last[:, None], ends[:1]] = 0.0
        return scores
