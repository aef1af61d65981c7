"""From logits to tokens: temperature, truncation, inverse-CDF draws, and statistics of what was drawn from.

Works on unnormalised weights exp(z - max z), so that nothing of size [R, V] is normalised, logged or sorted unless
somebody asked for it. Every row is computed on its own: what it draws does not depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from guerdon.samplers.base import Sampling
from guerdon.types import FloatArray, IntArray

_BLOCK = 256
"""Tokens per block of the two-level search: about the square root of a usual vocabulary."""
_NUCLEUS_GUESS = 64
"""Tokens ranked at first for top-p; most nuclei are smaller."""
_ROWS = 4
"""Rows of wide nuclei searched together, so that the tables stay in a processor's cache."""
_ONE = 0x3F800000
"""Bits of 1.0 in float32."""


@dataclass(frozen=True)
class Rule:
    """What of `Sampling` shapes a draw. Rows with equal rules are drawn together."""

    temperature: float
    top_k: int
    top_p: float
    min_p: float
    support: bool
    entropy: bool
    top_logprobs: int

    @classmethod
    def of(cls, how: Sampling) -> Rule:
        return cls(how.temperature, how.top_k, how.top_p, how.min_p, how.truncated, how.entropy, how.top_logprobs)


@dataclass(frozen=True)
class Drawn:
    """One token per row, with its log-probability (nats) under the final distribution; NaN where there was none.

    support: per row the ids of nonzero probability. entropy: nats. top_ids, top_logprobs: [R, k], best first.
    """

    tokens: list[int]
    logprobs: list[float]
    support: list[IntArray] | None = None
    entropy: list[float] | None = None
    top_ids: IntArray | None = None
    top_logprobs: FloatArray | None = None

    @cached_property
    def streams(self) -> dict[str, Any]:
        """What else was asked for, by name, row by row."""
        found = {name: getattr(self, name) for name in ("support", "entropy", "top_ids", "top_logprobs")}
        return {name: stream for name, stream in found.items() if stream is not None}


def draw(logits: Tensor, rule: Rule, uniforms: Sequence[float]) -> Drawn:
    """Draw one token per row of `logits` [R, V] with one uniform in [0, 1) each.

    Order: temperature, top_k, top_p, min_p. Tokens tied with the last one kept are kept too, so that the support does
    not depend on a sorting order. Rows of NaN, or with every token banned (-inf), get a log-probability of NaN.
    """
    if rule.temperature == 0:
        return _greedy(logits.float(), rule)
    scores = logits.float() if rule.temperature == 1 else logits.float() / rule.temperature  # [R, V]
    peak = scores.amax(-1, keepdim=True)
    weight = (scores - peak).exp_()
    _truncate(weight, rule)
    tokens, mass = _invert(weight, torch.tensor(uniforms, dtype=_wide(weight), device=weight.device))
    log_mass = mass.log()  # [R]
    logprobs = (scores.gather(-1, tokens[:, None]) - peak)[:, 0] - log_mass
    columns = [tokens.float(), logprobs.float()]  # ids below 2**24 are exact in float32
    if rule.entropy:
        columns.append((log_mass + torch.special.entr(weight).sum(-1) / mass).float())
    table = torch.stack(columns).tolist()
    ids, values = _top((weight.log() - log_mass[:, None]).float(), rule) if rule.top_logprobs else (None, None)
    return Drawn(
        tokens=[int(t) for t in table[0]],
        logprobs=[min(p, 0.0) if p == p else p for p in table[1]],
        support=_support(weight) if rule.support else None,
        entropy=[max(h, 0.0) for h in table[2]] if rule.entropy else None,
        top_ids=ids,
        top_logprobs=values,
    )


def _greedy(logits: Tensor, rule: Rule) -> Drawn:
    best, tokens = logits.max(-1)
    certain = (best - best).tolist()  # 0, or NaN where the row holds no number
    picks = tokens.tolist()
    ids, values = _top(logits, rule) if rule.top_logprobs else (None, None)
    if values is not None:
        values[:] = -np.inf
        values[:, 0] = 0.0
    return Drawn(
        tokens=picks,
        logprobs=certain,
        support=[np.array([t], dtype=np.int64) for t in picks] if rule.support else None,
        entropy=[0.0] * len(picks) if rule.entropy else None,
        top_ids=ids,
        top_logprobs=values,
    )


def _truncate(weight: Tensor, rule: Rule) -> None:
    """Zero, in place, the weights [R, V] that top-k, top-p and min-p rule out; the largest weight of a row is 1."""
    if 0 < rule.top_k < weight.shape[-1]:
        least = weight.topk(rule.top_k, sorted=True).values[:, -1:]
        weight.masked_fill_(weight < least, 0)
    if rule.top_p < 1:
        weight.masked_fill_(weight < _nucleus(weight, rule.top_p), 0)
    if rule.min_p > 0:
        weight.masked_fill_(weight < rule.min_p, 0)


def _nucleus(weight: Tensor, top_p: float) -> Tensor:
    """[R, 1] smallest weight of the smallest set of top tokens that holds at least `top_p` of the mass."""
    enough = top_p * weight.sum(-1, keepdim=True, dtype=_wide(weight))  # [R, 1]
    ranked = weight.topk(min(_NUCLEUS_GUESS, weight.shape[-1]), sorted=True).values
    upto = ranked.to(enough.dtype).cumsum(-1)
    kept = (upto - ranked < enough).sum(-1, keepdim=True)
    least = ranked.gather(-1, (kept - 1).clamp(min=0))
    wider = (upto[:, -1] < enough[:, 0]).nonzero()[:, 0]
    if len(wider):
        parts = zip(weight[wider].split(_ROWS), enough[wider].split(_ROWS), strict=True)
        least[wider] = torch.cat([_cut(w, e) for w, e in parts])
    return least


def _cut(weight: Tensor, enough: Tensor) -> Tensor:
    """[R, 1] largest cut such that the weights >= cut still sum to `enough` [R, 1].

    A radix search instead of a sort: positive floats are ordered as their bits are, so the mass is summed by upper
    half of the bits, and then, within the half that the cut falls in, by lower half.
    """
    bits = weight.view(torch.int32)
    upper = (bits >> 16).long()
    coarse = _mass_from(weight, upper, (_ONE >> 16) + 1, enough.dtype)
    half = ((coarse >= enough).sum(-1, keepdim=True) - 1).clamp(min=0)
    above = torch.nn.functional.pad(coarse, (0, 1)).gather(-1, half + 1)
    within = torch.where(upper == half, weight, 0)
    fine = above + _mass_from(within, (bits & 0xFFFF).long(), 1 << 16, enough.dtype)
    rest = ((fine >= enough).sum(-1, keepdim=True) - 1).clamp(min=0)
    return ((half << 16) | rest).int().view(torch.float32)


def _mass_from(weight: Tensor, key: Tensor, keys: int, dtype: torch.dtype) -> Tensor:
    """[R, keys] sum of the weights whose key is at least this one."""
    mass = weight.new_zeros(weight.shape[0], keys).scatter_add_(-1, key, weight)
    return mass.to(dtype).flip(-1).cumsum(-1).flip(-1)


def _invert(weight: Tensor, uniforms: Tensor) -> tuple[Tensor, Tensor]:
    """Tokens [R] at these quantiles [R] of the weights [R, V], and the weights' sums [R].

    Two levels: find the block of tokens, then the token inside it, both in float64. A token of zero weight cannot be
    returned (unless a row has no weight at all).
    """
    vocab = weight.shape[-1]
    whole = vocab - vocab % _BLOCK
    sums = weight[:, :whole].unflatten(-1, (-1, _BLOCK)).sum(-1) if whole else weight[:, :0]
    if whole < vocab:
        sums = torch.cat([sums, weight[:, whole:].sum(-1, keepdim=True)], dim=-1)  # [R, K]
    block, rest, mass = _search(sums.to(uniforms.dtype), uniforms)
    inside = block[:, None] * _BLOCK + torch.arange(_BLOCK, device=weight.device)  # [R, B]
    local = weight.gather(-1, inside.clamp(max=vocab - 1)).masked_fill_(inside >= vocab, 0)
    index, _, _ = _search(local.to(uniforms.dtype), rest)
    return block * _BLOCK + index, mass


def _search(weight: Tensor, quantile: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Index [R] of the cell in which the quantile [R] falls, the quantile within that cell, and the total mass."""
    upto = weight.cumsum(-1)
    mass = upto[:, -1]
    target = quantile * mass
    index = (upto <= target[:, None]).sum(-1)
    last = weight.shape[-1] - 1 - (weight > 0).flip(-1).to(torch.uint8).argmax(-1)
    index = torch.minimum(index, last)[:, None]  # rounding may carry the target to the very end
    cell = weight.gather(-1, index)
    rest = (target[:, None] - (upto.gather(-1, index) - cell)) / cell
    return index[:, 0], rest[:, 0].clamp(0, 1), mass


def _support(weight: Tensor) -> list[IntArray]:
    rows, ids = weight.nonzero(as_tuple=True)
    ends = torch.bincount(rows, minlength=weight.shape[0]).cumsum(0).tolist()
    flat = ids.cpu().numpy()
    return [flat[a:b].copy() for a, b in zip([0, *ends[:-1]], ends, strict=True)]


def _top(values: Tensor, rule: Rule) -> tuple[IntArray, FloatArray]:
    best = values.topk(min(rule.top_logprobs, values.shape[-1]), sorted=True)
    return best.indices.cpu().numpy(), best.values.cpu().numpy().copy()


def _wide(like: Tensor) -> torch.dtype:
    return torch.float32 if like.device.type == "mps" else torch.float64
