"""Batches written by hand, for tests of losses, advantages and methods."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from guerdon.method import Term
from guerdon.types import Batch


def make_batch(
    returns: Sequence[float] = (),
    groups: Sequence[int] | None = None,
    masks: Sequence[Sequence[int]] | None = None,
    rewards: Sequence[Sequence[float]] | None = None,
    behavior: Sequence[Sequence[float]] | None = None,
    advantages: Sequence[Sequence[float]] | None = None,
    tokens: Sequence[Sequence[int]] | None = None,
    **extra: Sequence[Sequence[float]],
) -> Batch:
    """A flat batch from one list per sequence.

    Sequence i has `masks[i]` (default: two actions), rewards `rewards[i]` (default: `returns[i]` on the last token),
    and belongs to `groups[i]` (default: all to group 0). Any further keyword becomes a stream in `extra`.
    """
    streams = [s for s in (masks, rewards, behavior, advantages, tokens, *extra.values()) if s is not None]
    lengths = [len(row) for row in streams[0]] if streams else [2] * len(returns)
    masks = masks or [[1] * n for n in lengths]
    rewards = rewards or [[0.0] * (n - 1) + [r] for n, r in zip(lengths, returns or [0.0] * len(lengths), strict=True)]
    groups = groups if groups is not None else [0] * len(lengths)
    mask = torch.tensor([bool(m) for row in masks for m in row])
    seq = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    n = len(seq)
    batch = Batch(
        inputs={"tokens": _flat(tokens, torch.long) if tokens is not None else torch.zeros(n, dtype=torch.long)},
        mask=mask,
        seq=seq,
        episode=seq.clone(),
        group=torch.tensor(groups)[seq],
        span=torch.arange(n),
        behavior=_flat(behavior) if behavior is not None else torch.zeros(n),
        version=torch.zeros(n, dtype=torch.long),
        reward=_flat(rewards),
        share=mask.float(),
        advantage=_flat(advantages) if advantages is not None else None,
    )
    return batch.put(**{name: _flat(rows) for name, rows in extra.items()})


def _flat(rows: Sequence[Sequence[float]], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor([x for row in rows for x in row], dtype=dtype)


def total(term: Term, out: dict[str, torch.Tensor], batch: Batch) -> torch.Tensor:
    """scale * sum_n w_n * l_n: the loss an engine forms of a term."""
    weights = term.reduce(batch, batch.stream(term.mask))
    return term.scale * (weights * term.objective(out, batch)).sum()
