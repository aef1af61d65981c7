"""A training pass over the distinct tokens of a batch, one after the other in one row: nothing is padded but attention.

Sequences that share a beginning (a group's prompt, the trunk of a tree) have it once: every other token's keys and
values are gathered for those who see them, and gradients flow back through the gathering.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from guerdon.blocks.kernels import embedded, normed_products, product, rms_norm, rotate, swiglu, swiglu_product
from guerdon.blocks.layout import Flat
from guerdon.blocks.stack import Layer, Stack, plain, plain_table


def forward(stack: Stack, flat: Flat) -> Tensor:
    """Hidden states [U, H] after the last norm, one per flat token."""
    table = plain_table(stack.embed)
    x: Tensor = stack.embed(flat.tokens) if table is None else embedded(flat.tokens, table)
    cos, sin = stack.angles(flat.place)
    for layer in stack.layers:
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
