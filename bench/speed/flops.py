"""Floating-point operations of a step by counting: the least that must be multiplied, a group's prompt once.

A multiply-add is two operations. Counted are matrix products and attention; a backward pass is twice a forward pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Shape:
    """What of a decoder's config says how much it multiplies. query, keys: width of all heads together."""

    hidden: int
    inner: int
    layers: int
    query: int
    keys: int
    vocab: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Shape:
        """From a Hugging Face config of a Llama-like model."""
        hidden, heads = int(config["hidden_size"]), int(config["num_attention_heads"])
        size = int(config.get("head_dim") or hidden // heads)
        keys = int(config.get("num_key_value_heads") or heads) * size
        inner, layers, vocab = (int(config[k]) for k in ("intermediate_size", "num_hidden_layers", "vocab_size"))
        return cls(hidden, inner, layers, heads * size, keys, vocab)

    @property
    def body(self) -> float:
        """Per token, without attention and output layer."""
        return 2.0 * self.layers * self.hidden * (2 * self.query + 2 * self.keys + 3 * self.inner)

    @property
    def head(self) -> float:
        """Per position whose logits are needed."""
        return 2.0 * self.hidden * self.vocab

    @property
    def attention(self) -> float:
        """Per pair of a query and a key."""
        return 4.0 * self.layers * self.query


def sampling(shape: Shape, prompt: float, lengths: Sequence[int]) -> float:
    """One group: the prompt once, then every token but the last of each completion goes through the model."""
    tokens = prompt + sum(n - 1 for n in lengths)
    pairs = prompt * (prompt + 1) / 2 + sum((n - 1) * prompt + n * (n - 1) / 2 for n in lengths)
    return shape.body * tokens + shape.attention * pairs + shape.head * sum(lengths)


def forward(shape: Shape, prompt: float, lengths: Sequence[int], head: bool = True) -> float:
    """One group at once, the prompt once, logits at the completions only."""
    tokens = prompt + sum(lengths)
    pairs = prompt * (prompt + 1) / 2 + sum(n * prompt + n * (n + 1) / 2 for n in lengths)
    return shape.body * tokens + shape.attention * pairs + (shape.head * sum(lengths) if head else 0.0)


def learning(shape: Shape, prompt: float, lengths: Sequence[int], head: bool = True, references: int = 0) -> float:
    """Forward and backward of one group; references: further models that are asked about it."""
    return (3 + references) * forward(shape, prompt, lengths, head)
