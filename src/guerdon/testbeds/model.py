"""What the policies of testbeds share: they pass for a causal language model, so that the real likelihood reads them,
and they decode one position of many rows at a time, for the sampler of this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from guerdon.testbeds.symbols import Symbols
from guerdon.types import IntArray


@dataclass(frozen=True)
class Config:
    """What likelihoods ask of a model's configuration."""

    model_type: str = "testbed"
    _attn_implementation: str = "sdpa"

    def get_text_config(self) -> Config:
        return self


class Hidden(NamedTuple):
    """What a trunk gives: a state per token. [R, L, H]"""

    last_hidden_state: Tensor


class Logits(NamedTuple):
    """What a model gives: logits of what follows each token. [R, L, V]"""

    logits: Tensor


class Decoding(Protocol):
    """Rows that are being continued."""

    logits: Tensor
    """[R, V] of what follows each row."""

    def step(self, tokens: Tensor, kept: Tensor | None) -> None:
        """Append a token to each of the rows `kept` (indices [R'], None: all), and forget the others. tokens: [R']"""
        ...


class Model(nn.Module):
    """A causal model over symbols, in the two halves that `guerdon.models.heads.split` takes apart.

    Subclasses set `trunk` (ids to states) and `head` (states to logits of the symbols), and write `decoding`.
    """

    config = Config()
    trunk: nn.Module
    head: nn.Module

    def __init__(self, symbols: Symbols) -> None:
        super().__init__()
        self.symbols = symbols

    def get_decoder(self) -> nn.Module:
        return self.trunk

    def get_output_embeddings(self) -> nn.Module:
        return self.head

    def forward(self, input_ids: Tensor, **how: Any) -> Logits:
        """Logits after every token of every row. [R, L] -> [R, L, V]"""
        return Logits(self.head(self.trunk(input_ids, **how).last_hidden_state))

    def decoding(self, prompts: Sequence[IntArray]) -> Decoding:
        """Begin to continue each of the prompts."""
        raise NotImplementedError

    def values(self) -> nn.Module:
        """A value model to go with it, as `guerdon.likelihoods.autoregressive.Values` reads one."""
        raise NotImplementedError


def causal(input_ids: Tensor, attention_mask: Tensor | None, position_ids: Tensor | None) -> tuple[Tensor, Tensor]:
    """(what each token sees [R or 1, L, L] bool, its place in its path [R or 1, L]); plain rows by default."""
    length = input_ids.shape[1]
    places = torch.arange(length)[None] if position_ids is None else position_ids
    if attention_mask is None:
        return torch.ones(length, length, dtype=torch.bool).tril()[None], places
    return attention_mask[:, 0], places
