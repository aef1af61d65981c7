"""Averages of weights: several models that were trained from one start, as one model.

Weights are averaged as they act: adapters are folded in first, since the mean of products B A is not the product of
means. Sums are taken in float32 at least, whatever the models are stored in.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from guerdon.models.load import Policy
from guerdon.models.lora import merged, unwrapped

State = Mapping[str, Tensor]
"""Parameters and buffers by name, as `state_dict` has them."""

RELATED = 0.5
"""Matrices of one start have at least this cosine; those of independent draws have one near 0."""
_TELLING = 64
"""Entries below which a cosine says little."""


def average(
    states: Sequence[State], weights: Sequence[float] | None = None, related: float = RELATED
) -> dict[str, Tensor]:
    """sum_m weight_m state_m of every floating-point tensor, in its own type; whatever else there is has to be equal.

    weights: on the simplex; None: all equal. Copies of one model give that model, and a weight of 1 that member, bit
    for bit. related: least cosine of each matrix of any two members, -1 for no check. ValueError when members are of
    different architectures, hold adapters, or did not start from one model.
    """
    weights = _simplex(weights, len(states))
    _alike(states)
    _related(states, related)
    kept = [(weight, state) for weight, state in zip(weights, states, strict=True) if weight]
    return {name: _mean(name, [(weight, state[name]) for weight, state in kept]) for name in states[0]}


def average_models(models: Sequence[Policy], weights: Sequence[float] | None = None) -> Policy:
    """The average of whole models, in a new module; adapters are folded in. ValueError as in `average`, and for
    tokenizers or heads that differ."""
    for one in models[1:]:
        _same_words(models[0], one)
    modules = [merged(one.module) for one in models]
    made = copy.deepcopy(modules[0])
    made.load_state_dict(average([module.state_dict() for module in modules], weights))
    return Policy(made, models[0].tokenizer, models[0].name, models[0].source)


def distance(one: State, other: State) -> float:
    """|difference| / mean of both norms, over all floating-point tensors: 0 for copies, about 1.4 for strangers."""
    pairs = [(one[name].double(), other[name].double()) for name in one if one[name].is_floating_point()]
    apart = sum(float((a - b).square().sum()) for a, b in pairs) ** 0.5
    sizes = [sum(float(pair[i].square().sum()) for pair in pairs) ** 0.5 for i in (0, 1)]
    return 2 * apart / sum(sizes) if sum(sizes) else 0.0


def _simplex(weights: Sequence[float] | None, count: int) -> Sequence[float]:
    if not count:
        raise ValueError("there is no model to average; expected at least one")
    if weights is None:
        return [1 / count] * count
    if len(weights) != count:
        raise ValueError(f"there are {len(weights)} weights for {count} models; expected one each")
    if any(weight < 0 for weight in weights) or abs(sum(weights) - 1) > 1e-6:
        raise ValueError(f"the weights are {list(weights)}; expected numbers of at least 0 that sum to 1")
    return weights


def _alike(states: Sequence[State]) -> None:
    adapted = next((name for name in states[0] if ".lora_" in name), None)
    if adapted:
        raise ValueError(
            f"{adapted} is part of an adapter, and the mean of products is not the product of means; fold adapters in "
            "first: models.lora.merged"
        )
    for number, state in enumerate(states[1:], 1):
        odd = sorted(state.keys() ^ states[0].keys())
        if odd:
            raise ValueError(f"model {number} is of another architecture: {odd[0]} is in one of the two only")
        for name, tensor in states[0].items():
            if state[name].shape != tensor.shape:
                raise ValueError(
                    f"model {number} is of another architecture or vocabulary: {name} is {tuple(state[name].shape)}; "
                    f"expected {tuple(tensor.shape)}"
                )


def _related(states: Sequence[State], least: float) -> None:
    telling = [name for name, one in states[0].items() if one.is_floating_point() and _matrix(one)]
    for a, b in combinations(range(len(states)), 2):
        for name in telling:
            cosine = _cosine(states[a][name], states[b][name])
            if cosine < least:
                raise ValueError(
                    f"models {a} and {b} did not start from one model: the cosine of their {name} is {cosine:.2f}, "
                    f"expected at least {least:g}. Train all members from the same folder, head included"
                )


def _matrix(tensor: Tensor) -> bool:
    return tensor.dim() > 1 and tensor.numel() >= _TELLING


def _cosine(one: Tensor, other: Tensor) -> float:
    a, b = one.flatten().float(), other.flatten().float()
    norms = float(a.norm() * b.norm())
    return float(a @ b) / norms if norms else 1.0


def _mean(name: str, members: Sequence[tuple[float, Tensor]]) -> Tensor:
    base = members[0][1]
    if not base.is_floating_point():
        if any(not torch.equal(base, other) for _, other in members[1:]):
            raise ValueError(f"{name} holds whole numbers that differ between models, which have no average")
        return base.clone()
    wide = torch.promote_types(base.dtype, torch.float32)
    start = base.to(wide)
    # The base and what others differ by: exact for copies, which a sum of weighted parts is not.
    moved = sum((weight * (other.to(wide) - start) for weight, other in members[1:]), torch.zeros_like(start))
    return (start + moved).to(base.dtype)


def _same_words(first: Policy, other: Policy) -> None:
    if first.tokenizer.get_vocab() != other.tokenizer.get_vocab():
        raise ValueError(f"{other.name} has another vocabulary than {first.name}; expected the same tokenizer")
    kinds = [type(_module(one)).__name__ for one in (first, other)]
    heads = [list(_module(one).config.id2label.values()) for one in (first, other)]
    if kinds[0] != kinds[1]:
        raise ValueError(f"{other.name} is a {kinds[1]}; expected a {kinds[0]}, as {first.name} is")
    if heads[0] != heads[1]:
        raise ValueError(f"{other.name} has the heads {heads[1]}; expected {heads[0]}, as {first.name} has")


def _module(model: Policy) -> Any:
    return unwrapped(model.module)
