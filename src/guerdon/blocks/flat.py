"""A training pass over the distinct tokens of a batch, one after the other in one row: nothing is padded but attention.

Sequences that share a beginning (a group's prompt, the trunk of a tree) have it once: every other token's keys and
values are gathered for those who see them, and gradients flow back through the gathering.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from guerdon.blocks.kernels import embedded, normed_products, product, rms_norm, rotate, swiglu, swiglu_product
from guerdon.blocks.stack import Layer, Stack, plain, plain_table
from guerdon.collate import position, unique_tokens
from guerdon.types import Batch

ALIKE = 0.7
"""Stretches share a call of attention when none is shorter than this share of the longest, in queries or in keys."""


@dataclass(frozen=True)
class Bucket:
    """Stretches of tokens whose attention is computed together, R of them, each padded at its end to L of K tokens.

    own [R * L]: where each query is among the flat tokens. seen [R * K]: where the keys of its path are. hidden:
    [R or 1, 1, L, K], -inf where a query does not see a key; None where plain causal attention says it (L = K).
    """

    own: Tensor
    seen: Tensor
    hidden: Tensor | None
    rows: int


@dataclass(frozen=True)
class Flat:
    """The U distinct tokens of a batch in a row. tokens, place [U]. back [U]: where attention left each; None: there.

    first [U]: a batch row that holds the token. inverse [N]: the distinct token of each batch row. before [U]: the
    flat token that precedes it on its path, -1 for none. slot [U]: where it is in the row.
    """

    tokens: Tensor
    place: Tensor
    buckets: tuple[Bucket, ...]
    back: Tensor | None
    first: Tensor
    inverse: Tensor
    before: Tensor
    slot: Tensor


def lay_out(batch: Batch) -> Flat:
    """Cut the paths of a batch where they branch: a stretch is what the same sequences hold, hence computed once."""
    place = position(batch)
    first, inverse = unique_tokens(batch)
    holders = torch.bincount(inverse)[inverse]  # [N] sequences that hold the token
    owner = first[inverse] == torch.arange(len(batch))
    edge = owner & ((place == 0) | (holders != holders.roll(1)) | ~owner.roll(1))
    begin = edge.nonzero().squeeze(1)  # [S] batch row at which each stretch begins
    length = torch.bincount(torch.cumsum(edge, 0)[owner] - 1)
    root = begin - place[begin]
    order, buckets = _buckets(length, place[begin])
    slot = torch.empty(len(first), dtype=torch.long)
    rows = torch.cat([torch.arange(int(b), int(b + n)) for b, n in zip(begin[order], length[order], strict=True)])
    slot[inverse[rows]] = torch.arange(len(rows))
    path = slot[inverse]  # [N] where the token of each batch row is
    made = tuple(_bucket(path, begin[b], length[b], root[b]) for b in buckets)
    ends = torch.cat([_kept(length[b]) for b in buckets])
    return Flat(
        tokens=batch.inputs["tokens"][rows],
        place=place[rows],
        buckets=made,
        back=None if bool(ends.all()) else ends.nonzero().squeeze(1),
        first=first,
        inverse=inverse,
        before=torch.where(place[first] > 0, path[(first - 1).clamp(min=0)], -1),
        slot=slot,
    )


def _buckets(length: Tensor, before: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Stretches in the order of their buckets, and each bucket's: alike in queries and keys, roots by themselves."""
    sized = sorted(range(len(length)), key=lambda s: (bool(before[s]), int(length[s]), int(before[s])), reverse=True)
    found: list[list[int]] = []
    most = (0, 0, False)
    for s in sized:
        queries, keys, inner = int(length[s]), int(length[s] + before[s]), bool(before[s])
        if not found or queries < ALIKE * most[0] or not ALIKE <= keys / most[1] <= 1 / ALIKE or inner != most[2]:
            found.append([])
            most = (queries, keys, inner)
        found[-1].append(s)
    parts = [torch.tensor(sorted(part)) for part in found]
    return torch.cat(parts), parts


def _bucket(path: Tensor, begin: Tensor, length: Tensor, root: Tensor) -> Bucket:
    last = begin + length - 1
    longest, keys = int(length.max()), int((last - root).max()) + 1
    own = torch.minimum(begin[:, None] + torch.arange(longest), last[:, None])  # [R, L]
    seen = torch.minimum(root[:, None] + torch.arange(keys), last[:, None])  # [R, K]
    before = begin - root
    hidden = None
    if bool(before.any()):
        if bool((before == before[0]).all()):
            before = before[:1]
        reach = before[:, None] + torch.arange(longest)  # [R or 1, L] the last key that a query sees
        hidden = torch.zeros(len(before), 1, longest, keys)
        hidden.masked_fill_(torch.arange(keys) > reach[:, None, :, None], float("-inf"))
    return Bucket(path[own].flatten(), path[seen].flatten(), hidden, len(begin))


def _kept(length: Tensor) -> Tensor:
    """Which of the padded places of a bucket hold a token, row by row."""
    return (torch.arange(int(length.max())) < length[:, None]).flatten()


def forward(stack: Stack, flat: Flat) -> Tensor:
    """Hidden states [U, H] after the last norm, one per flat token."""
    table = plain_table(stack.embed)
    x: Tensor = stack.embed(flat.tokens) if table is None else embedded(flat.tokens, table)
    cos, sin = stack.angles(flat.place)
    for layer in stack.layers:
        if stack.checkpointed:
            x = checkpoint(_layer, stack, layer, x, cos, sin, flat, use_reentrant=False)
        else:
            x = _layer(stack, layer, x, cos, sin, flat)
    return rms_norm(x, stack.norm, stack.eps)


def _layer(stack: Stack, layer: Layer, x: Tensor, cos: Tensor, sin: Tensor, flat: Flat) -> Tensor:
    found = _into(x, layer.norm_in, stack.eps, (layer.q, layer.k, layer.v))
    q, k, v = (t.unflatten(-1, (-1, stack.width)) for t in found)
    if layer.q_norm is not None and layer.k_norm is not None:
        q, k = rms_norm(q, layer.q_norm, stack.eps), rms_norm(k, layer.k_norm, stack.eps)
    x = x + _times(layer.o, _attend(rotate(q, cos, sin), rotate(k, cos, sin), v, flat, stack.scale))
    gate, up = _into(x, layer.norm_out, stack.eps, (layer.gate, layer.up))
    down: Any = layer.down
    if plain(down):
        return x + _biased(down, swiglu_product(gate, up, down.weight))
    out: Tensor = x + down(swiglu(gate, up))
    return out


def _into(x: Tensor, norm: Tensor, eps: float, maps: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Normed x through each of several linear layers."""
    if not all(plain(one) for one in maps):
        h = rms_norm(x, norm, eps)
        return tuple(_times(one, h) for one in maps)
    found = normed_products(x, norm, eps, [one.weight for one in maps])
    return tuple(_biased(one, t) for one, t in zip(maps, found, strict=True))


def _times(one: Any, x: Tensor) -> Tensor:
    if plain(one):
        return _biased(one, product(x, one.weight))
    out: Tensor = one(x)
    return out


def _biased(one: Any, x: Tensor) -> Tensor:
    return x if one.bias is None else x + one.bias


def _attend(q: Tensor, k: Tensor, v: Tensor, flat: Flat, scale: float) -> Tensor:
    """Causal attention along the paths: q [U, heads, D], k and v [U, key heads, D] to [U, heads * D]."""
    found = []
    for bucket in flat.buckets:
        queries = q.index_select(0, bucket.own).unflatten(0, (bucket.rows, -1)).transpose(1, 2)
        keys, values = (t.index_select(0, bucket.seen).unflatten(0, (bucket.rows, -1)).transpose(1, 2) for t in (k, v))
        out = torch.nn.functional.scaled_dot_product_attention(
            queries,
            keys,
            values,
            attn_mask=bucket.hidden,
            is_causal=bucket.hidden is None,
            scale=scale,
            enable_gqa=q.shape[1] != k.shape[1],
        )
        found.append(out.transpose(1, 2).flatten(0, 1).flatten(1))
    whole = found[0] if len(found) == 1 else torch.cat(found)
    return whole if flat.back is None else whole.index_select(0, flat.back)
