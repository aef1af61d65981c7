"""The parts of a decoder-only model whose layers are known here, found in a transformers module.

Known: RMS norms before attention and before a SwiGLU, rotary positions, full causal attention, optional biases and
optional norms of queries and keys (Llama, Mistral without a window, Qwen 2 and 3), in float32 on a CPU. Linear layers
may carry adapters. Everything else, gradient checkpointing too, keeps transformers' own forward.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeGuard

import torch
from torch import Tensor, nn

FAMILIES = ("LlamaModel", "MistralModel", "Qwen2Model", "Qwen3Model")
"""Trunks of transformers whose equations are those of `blocks`; a test holds each to its own forward."""
_ROTARY = ("default", "linear", "llama3", "yarn")
"""Kinds of rotary positions that do not change with the length of the input."""


@dataclass(frozen=True)
class Layer:
    """One decoder layer: linear maps as modules, norms as weights. q_norm, k_norm: None where there is none."""

    norm_in: Tensor
    norm_out: Tensor
    q: nn.Module
    k: nn.Module
    v: nn.Module
    o: nn.Module
    gate: nn.Module
    up: nn.Module
    down: nn.Module
    q_norm: Tensor | None
    k_norm: Tensor | None


@dataclass(frozen=True)
class Stack:
    """A trunk's parts. width: of one head. scale: what query-key products are multiplied by. eps: of every norm."""

    embed: nn.Module
    layers: tuple[Layer, ...]
    norm: Tensor
    rotary: nn.Module
    width: int
    scale: float
    eps: float

    def angles(self, place: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines [N, 1, width / 2] of the rotation at positions [N]."""
        half = self.width // 2
        cos, sin = self.rotary(self.norm, place[None])
        return cos[0, :, None, :half], sin[0, :, None, :half]


def find(trunk: Any) -> Stack | None:
    """The stack of a transformers trunk (`LlamaModel`, ...), or None where it is not one of those known here."""
    kind = type(trunk)
    if kind.__name__ not in FAMILIES or not kind.__module__.startswith("transformers."):
        return None
    if not _usual(trunk.config) or not _simple(trunk):
        return None
    layers = tuple(_layer(layer) for layer in trunk.layers)
    attention = trunk.layers[0].self_attn
    return Stack(
        embed=trunk.embed_tokens,
        layers=layers,
        norm=trunk.norm.weight,
        rotary=trunk.rotary_emb,
        width=int(attention.head_dim),
        scale=float(attention.scaling),
        eps=float(trunk.norm.variance_epsilon),
    )


def hooked(module: nn.Module) -> bool:
    """Whether somebody wants to see this very module called."""
    return bool(module._forward_hooks or module._forward_pre_hooks or module._backward_hooks)


def plain(one: nn.Module) -> TypeGuard[nn.Linear]:
    """Whether a layer is x W^T + b and nothing else (an adapter's is not)."""
    return type(one) is nn.Linear


def plain_table(one: nn.Module) -> Tensor | None:
    """The weight of an embedding that is rows of it and nothing else."""
    usual = type(one) is nn.Embedding and one.padding_idx is None and one.max_norm is None
    return one.weight if usual and not one.scale_grad_by_freq else None  # type: ignore[union-attr, return-value]


def _usual(config: Any) -> bool:
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    window = getattr(config, "sliding_window", None) and getattr(config, "use_sliding_window", True)
    rotary = getattr(config, "rope_parameters", None) or {}
    return (
        config.hidden_act in ("silu", "swish")
        and kinds == {"full_attention"}
        and not window
        and rotary.get("rope_type", "default") in _ROTARY
        and rotary.get("partial_rotary_factor", 1.0) == 1.0
    )


def _simple(trunk: Any) -> bool:
    """Whether calling the parts one by one is what calling the trunk would be: float32 on a CPU, nothing hooked in."""
    parameters = list(trunk.parameters())
    checkpointed = getattr(trunk, "gradient_checkpointing", False) and trunk.training
    full = all(p.device.type == "cpu" and (p.dtype == torch.float32 or not p.requires_grad) for p in parameters)
    watched = any(p._backward_hooks or p._post_accumulate_grad_hooks for p in parameters)  # type: ignore[attr-defined]
    hooked_in = watched or any(map(hooked, trunk.modules()))
    return (
        full
        and trunk.norm.weight.dtype == torch.float32
        and bool(len(trunk.layers))
        and not hooked_in
        and not checkpointed
    )


def _layer(layer: Any) -> Layer:
    attention, mlp = layer.self_attn, layer.mlp
    q_norm, k_norm = getattr(attention, "q_norm", None), getattr(attention, "k_norm", None)
    return Layer(
        norm_in=layer.input_layernorm.weight,
        norm_out=layer.post_attention_layernorm.weight,
        q=attention.q_proj,
        k=attention.k_proj,
        v=attention.v_proj,
        o=attention.o_proj,
        gate=mlp.gate_proj,
        up=mlp.up_proj,
        down=mlp.down_proj,
        q_norm=None if q_norm is None else q_norm.weight,
        k_norm=None if k_norm is None else k_norm.weight,
    )
