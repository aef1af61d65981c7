"""The likelihood of language models: log-probabilities and vocabulary statistics at policy-chosen positions only.

Logits exist for one chunk of positions at a time; what leaves a chunk is a few numbers per position, and with gradients
the chunk's logits are computed again in the backward pass, so that memory does not grow with vocabulary x length.
The distribution is the one that was sampled from: logits divided by the stream `temperature`, restricted to the ids of
the stream `support` where truncation (top-k, top-p, min-p) left only some.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from guerdon.likelihoods.states import states
from guerdon.likelihoods.vocabulary import BY_HAND, Limits, entropy, logp, mean_logp, restrict, statistics
from guerdon.models.heads import Halves, split
from guerdon.types import Batch

CHUNK_ELEMENTS = 1 << 24
"""Logits held at a time: positions x vocabulary (64 MB in float32)."""


class Likelihood(Protocol):
    """(module, batch, wants) -> {name: [N]}; 0 where the policy chose nothing."""

    def __call__(self, module: Any, batch: Batch, wants: Sequence[str]) -> Mapping[str, Tensor]: ...


Statistic = Callable[[Tensor, Tensor], Tensor]
"""(log-probabilities [C, K], column of the chosen token [C]) -> [C]."""

STATISTICS: dict[str, Statistic] = {"logp": logp, "entropy": entropy, "mean_logp": mean_logp}


@dataclass(frozen=True)
class Autoregressive:
    """`logp`, `entropy` and `mean_logp` [N] of a Hugging Face causal language model."""

    chunk_elements: int = CHUNK_ELEMENTS

    def __call__(self, module: Any, batch: Batch, wants: Sequence[str]) -> dict[str, Tensor]:
        unknown = [name for name in wants if name not in STATISTICS]
        if unknown:
            raise KeyError(f"a language model has no statistic {unknown}; it has {sorted(STATISTICS)}")
        parts = split(module)
        hidden, actions, inverse = action_states(parts.trunk, module.config, batch)
        found = self._statistics(parts, hidden, batch.select(actions).to(hidden.device), wants)
        return {name: spread(values, actions, inverse, batch) for name, values in found.items()}

    def _statistics(self, parts: Halves, hidden: Tensor, chosen: Batch, wants: Sequence[str]) -> dict[str, Tensor]:
        if not len(hidden) or not wants:
            return {name: hidden.new_zeros(len(hidden), dtype=torch.float32) for name in wants}
        size = max(1, self.chunk_elements // int(parts.head.weight.shape[0]))
        target = chosen.inputs["tokens"]
        limits = Limits(chosen.extra.get("temperature"), chosen.extra.get("support"))
        if parts.plain and set(wants) <= set(BY_HAND):
            columns = statistics(hidden, parts.head.weight, target, limits, wants, size)
            return dict(zip(wants, columns, strict=True))
        again = torch.is_grad_enabled() and len(hidden) > size
        chunks = []
        for begin in range(0, len(hidden), size):
            cut = slice(begin, begin + size)
            args = (parts, hidden[cut], target[cut], limits.cut(cut), wants)
            chunks.append(checkpoint(_chunk, *args, use_reentrant=False) if again else _chunk(*args))
        return {name: torch.cat(column) for name, column in zip(wants, zip(*chunks, strict=True), strict=True)}


@dataclass(frozen=True)
class WithoutAdapters:
    """The likelihood of a peft model's base: what a policy with adapters was before they learned anything."""

    inner: Likelihood = Autoregressive()

    def __call__(self, module: Any, batch: Batch, wants: Sequence[str]) -> Mapping[str, Tensor]:
        with module.disable_adapter():
            return self.inner(module, batch, wants)


def _chunk(parts: Halves, hidden: Tensor, target: Tensor, limits: Limits, wants: Sequence[str]) -> list[Tensor]:
    logits = parts.finish(parts.head(hidden)).float()  # [C, V]
    if limits.temperature is not None:
        logits = logits / limits.temperature[:, None]
    if limits.support is not None:
        logits = restrict(logits, limits.support)
    logprobs = torch.log_softmax(logits, dim=1)
    return [STATISTICS[name](logprobs, target) for name in wants]


def action_states(trunk: Any, config: Any, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """Hidden states [A, H] from which each distinct action was chosen, a batch row of each [A], distinct token [N].

    An action without a predecessor (the first token of a sequence) has no such state: refused.
    """
    found = states(trunk, config, batch)
    wanted = batch.mask[found.first]  # [U]
    if bool((found.before[wanted] < 0).any()):
        raise ValueError("the first token of a sequence is marked as sampled: a policy needs a prompt of >= 1 token")
    return found.at(found.before[wanted]), found.first[wanted], found.inverse


def spread(values: Tensor, actions: Tensor, inverse: Tensor, batch: Batch) -> Tensor:
    """Values of distinct actions [A], on every batch row of each [N]; 0 where the policy chose nothing."""
    distinct = int(inverse.max()) + 1
    place = torch.full((distinct,), -1, dtype=torch.long)
    place[inverse[actions]] = torch.arange(len(actions))
    rows = batch.mask.nonzero().squeeze(1)
    out = values.new_zeros(len(batch))
    return out.index_put((rows.to(values.device),), values[place[inverse[rows]].to(values.device)])


@dataclass(frozen=True)
class Values:
    """`value` [N]: what a value model expects to earn from the state in which each action is chosen."""

    def __call__(self, module: Any, batch: Batch, wants: Sequence[str]) -> dict[str, Tensor]:
        if tuple(wants) not in ((), ("value",)):
            raise KeyError(f"a value model gives 'value'; asked for {list(wants)}")
        hidden, actions, inverse = action_states(module.trunk, module.trunk.config, batch)
        return {"value": spread(module(hidden), actions, inverse, batch)}
