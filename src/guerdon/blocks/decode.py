"""One step of sampling: a token for each of many rows, every row at its own length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn

from guerdon.blocks.kernels import normed, turned
from guerdon.blocks.stack import Layer, Stack, plain

FEW = 64
"""Rows up to which a product is formed as (W x^T)^T; on 32 rows of SmolLM2 it takes 0.8 of the time, on 256 more."""


class Store(Protocol):
    """Where a layer's keys and values are kept."""

    def update(self, key_states: Tensor, value_states: Tensor) -> tuple[Tensor, Tensor]:
        """Take one more of each row, [R, key heads, 1, D]; all of them [R, key heads, K, D]."""
        ...


def step(stack: Stack, tokens: Tensor, place: Tensor, unseen: Tensor, stores: Sequence[Store]) -> Tensor:
    """Hidden states [R, H] after one more token [R] in each row, at positions [R].

    unseen: [R, 1, 1, K] float, -inf at keys that a row does not hold.
    """
    x: Tensor = stack.embed(tokens)
    cos, sin = stack.angles(place)
    for layer, store in zip(stack.layers, stores, strict=True):
        h = normed(x, layer.norm_in, stack.eps)[0]
        x = x + times(layer.o, _attend(stack, layer, h, (cos, sin), unseen, store))
        h = normed(x, layer.norm_out, stack.eps)[0]
        wide = nn.functional.silu(times(layer.gate, h)).mul_(times(layer.up, h))
        x = x + times(layer.down, wide)
    return normed(x, stack.norm, stack.eps)[0]


def _attend(
    stack: Stack, layer: Layer, h: Tensor, angles: tuple[Tensor, Tensor], unseen: Tensor, store: Store
) -> Tensor:
    q, k, v = (times(linear, h).unflatten(-1, (-1, stack.width)) for linear in (layer.q, layer.k, layer.v))
    if layer.q_norm is not None and layer.k_norm is not None:
        q, k = normed(q, layer.q_norm, stack.eps)[0], normed(k, layer.k_norm, stack.eps)[0]
    keys, values = store.update(turned(k, *angles)[:, :, None], v[:, :, None])
    # The queries of one key head are the rows of one small attention, so that keys are read once.
    queries = turned(q, *angles).unflatten(1, (k.shape[1], -1))
    out = nn.functional.scaled_dot_product_attention(queries, keys, values, attn_mask=unseen, scale=stack.scale)
    return out.flatten(1)


def times(one: nn.Module, x: Tensor) -> Tensor:
    """A linear layer on rows [R, I]; few rows take the product faster with the weight on the left."""
    if not plain(one):
        out: Tensor = one(x)
        return out
    if len(x) > FEW:
        return nn.functional.linear(x, one.weight, one.bias)
    product = torch.mm(one.weight, x.T).T
    return product if one.bias is None else product + one.bias


class Head:
    """An output layer whose weight is kept in the layout of the CPU's matrix library. For weights that do not change.

    Where there is no such library, or the layer is not plain, it is `times`.
    """

    def __init__(self, one: nn.Module) -> None:
        self._one = one
        self._packed: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        if not plain(self._one) or self._one.bias is not None or not _packs:
            return times(self._one, x)
        if self._packed is None:
            self._packed = torch.ops.mkldnn._reorder_linear_weight(self._one.weight.detach(), len(x))
        out: Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, None, "none", [], "")
        return out


_packs = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
