"""Attention masks as transformers models take them: what each query sees, by kind of layer and of implementation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def attention(config: Any, visible: Tensor | None, place_q: Tensor, place_k: Tensor, dtype: torch.dtype) -> Any:
    """The `attention_mask` argument of a transformers model for a [R, 1, Q, K] bool mask.

    place_q [R, Q] and place_k [R, K] are positions, for layers that see a sliding window. Scaled-dot-product attention
    takes bools, eager attention takes numbers to add; models with several kinds of layer take one mask per kind.
    """
    if visible is None:
        return None
    kinds, window = layer_kinds(config)
    masks = {}
    for kind in kinds:
        near = place_q[:, None, :, None] - place_k[:, None, None, :] < window
        mask = visible & near if kind == "sliding_attention" else visible
        masks[kind] = _additive(mask, dtype) if config._attn_implementation == "eager" else mask
    return masks if len(masks) > 1 else next(iter(masks.values()))


def check_attention(config: Any) -> None:
    """Raises for a model whose attention cannot be given an explicit mask."""
    name = str(config._attn_implementation)
    if name not in ("sdpa", "eager"):
        raise ValueError(
            f"the model uses attention {name!r}; guerdon needs 'sdpa' or 'eager': "
            "load it with attn_implementation='sdpa', or call model.set_attn_implementation('sdpa')"
        )
    layer_kinds(config)


def layer_kinds(config: Any) -> tuple[list[str], int]:
    """The kinds of attention layers of a model (full, sliding), and its sliding window (0 if it has none)."""
    window = int(getattr(config, "sliding_window", None) or 0)
    kinds = sorted(set(getattr(config, "layer_types", None) or ["sliding_attention" if window else "full_attention"]))
    unknown = set(kinds) - {"full_attention", "sliding_attention"}
    if unknown:
        raise ValueError(
            f"{config.model_type} has layers of type {sorted(unknown)}; guerdon masks full and sliding attention only"
        )
    return kinds, window


def _additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, torch.finfo(dtype).min)
