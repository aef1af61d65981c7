"""A Hugging Face causal LM as a sampler sees it: prefill some prompts, decode one position of many rows.

Knows nothing of requests, sampling or stopping. Positions and masks are explicit, so one code path serves models with
rotary or learned positions, with full, sliding or mixed attention, plain or with LoRA layers in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers.cache_utils import DynamicCache

from guerdon.blocks import decode, stack
from guerdon.models.attention import attention, check_attention
from guerdon.models.heads import split
from guerdon.models.lora import unwrapped
from guerdon.samplers.cache import KeysValues, SlotCache
from guerdon.types import IntArray

_PREFILL_TOKENS = 8192
"""Most tokens, padding included, in one prefill forward of several prompts."""
_PADDING = 1.25
"""Prompts are prefilled together when the longest is at most this many times the shortest."""


@dataclass(frozen=True)
class Prefilled:
    """A sequence's keys and values at every layer, and the logits [V] after its last token."""

    states: KeysValues
    logits: Tensor


class Decoder:
    """Prefill and decode with one module; owns the key-value cache of the rows being decoded."""

    def __init__(self, module: nn.Module) -> None:
        self._model: Any = unwrapped(module)
        config = self._model.config.get_text_config()
        self.max_positions = int(getattr(config, "max_position_embeddings", None) or 2**31)
        self.vocab = int(self._model.get_input_embeddings().num_embeddings)
        check_attention(config)
        self._config = config
        self._layers = int(config.num_hidden_layers)
        self.cache = SlotCache(self._layers)
        self.look()

    def look(self) -> None:
        """Weights have changed, and perhaps adapters or hooks: what was made of the weights is made anew."""
        self._halves = split(self._model)
        self._stack = None if stack.hooked(self._model) else stack.find(self._halves.trunk)
        self._head = decode.Head(self._halves.head)

    def reset(self) -> None:
        """Give the memory of all rows back."""
        self.cache = SlotCache(self._layers)
        self.look()

    def prefill(self, sequences: Sequence[IntArray]) -> Iterator[tuple[int, Prefilled]]:
        """Index and result of each sequence, in some order; sequences of like length share a forward pass."""
        for indices in _batches([len(s) for s in sequences]):
            yield from zip(indices, self._prefill([sequences[i] for i in indices]), strict=True)

    def _prefill(self, sequences: list[IntArray]) -> list[Prefilled]:
        lengths = [len(s) for s in sequences]
        ids = torch.empty(len(sequences), max(lengths), dtype=torch.long)  # [B, T]
        for row, sequence in zip(ids, sequences, strict=True):
            row[: len(sequence)] = torch.from_numpy(sequence)
            row[len(sequence) :] = int(sequence[-1])  # padding on the right: causality hides it
        cache = DynamicCache()
        device = self._model.get_input_embeddings().weight.device
        last = torch.tensor(lengths, device=device)[:, None] - 1  # [B, 1]
        logits = self._model(input_ids=ids.to(device), cache=cache, use_cache=True, logits_to_keep=last).logits
        layers: list[Any] = cache.layers
        states = [(layer.keys, layer.values) for layer in layers]
        return [
            Prefilled([(keys[i, :, :n], values[i, :, :n]) for keys, values in states], logits[i, 0])
            for i, n in enumerate(lengths)
        ]

    def step(self, tokens: Sequence[int], positions: Sequence[int]) -> Tensor:
        """Feed one token to each of rows 0..R-1 at its position; returns the logits [R, V] after it."""
        device = self._model.get_input_embeddings().weight.device
        where = torch.tensor(positions, device=device)  # [R]
        length = max(positions) + 1
        self.cache.begin(where, length)
        places = torch.arange(length, device=device)
        seen = places <= where[:, None]  # [R, length]
        if self._stack is not None:
            unseen = torch.zeros(seen.shape).masked_fill_(~seen, float("-inf"))[:, None, None]
            hidden = decode.step(self._stack, torch.tensor(tokens), where, unseen, self.cache.slots)
            return self._halves.finish(self._head(hidden))
        out = self._model(
            input_ids=torch.tensor(tokens, device=device)[:, None],
            position_ids=where[:, None],
            attention_mask=attention(
                self._config, seen[:, None, None], where[:, None], places[None], self._model.dtype
            ),
            cache=self.cache,
            use_cache=True,
            logits_to_keep=1,
        )
        logits: Tensor = out.logits[:, 0]
        return logits


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indices of sequences to prefill together: alike in length, and not too many tokens."""
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    batch: list[int] = []
    for i in order:
        padded = lengths[i] * (len(batch) + 1)
        if batch and (padded > _PREFILL_TOKENS or lengths[i] > _PADDING * lengths[batch[0]]):
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
