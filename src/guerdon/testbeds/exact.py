"""The oracle of enumerable testbeds: every reply there is, with its probability, and what follows from that.

Everything here is differentiable in the policy's weights, so that the gradient of an expectation is exact too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import torch
from torch import Tensor

from guerdon.testbeds.base import Testbed
from guerdon.testbeds.model import Model
from guerdon.testbeds.symbols import Symbols
from guerdon.types import Task

MOST = 300_000
"""Replies to all prompts together beyond which nothing is enumerated."""


@dataclass(frozen=True)
class Replies:
    """Every reply to any prompt: S of them. tokens: [S, T], 0 after the end. mask: [S, T] bool. texts: [S]."""

    tokens: Tensor
    mask: Tensor
    texts: tuple[str, ...]


def count(symbols: Symbols, length: int) -> int:
    """How many replies there are."""
    going, counted = symbols.size - len(symbols.end), 1
    for _ in range(length):
        counted = counted * going + len(symbols.end)
    return counted


@lru_cache(maxsize=8)
def replies(symbols: Symbols, length: int) -> Replies:
    """All sequences of symbols that end with the end or at `length`, in order of length and symbols."""
    end = symbols.eos_token_id
    going = [symbol for symbol in range(symbols.size) if symbol != end]
    rows = [] if end is None else [(*body, end) for n in range(length) for body in product(going, repeat=n)]
    rows += list(product(going, repeat=length))
    tokens = torch.tensor([[*row, *([0] * (length - len(row)))] for row in rows])
    mask = torch.tensor([[place < len(row) for place in range(length)] for row in rows])
    return Replies(tokens, mask, tuple(symbols.decode(row) for row in rows))


@lru_cache(maxsize=4)
def oracle_of(testbed: Testbed) -> Oracle:
    """The oracle of a testbed, made once."""
    return Oracle(testbed)


@dataclass(frozen=True)
class Oracle:
    """All replies to the measured tasks of a testbed. ValueError when it is not enumerable, or they are too many."""

    testbed: Testbed

    def __post_init__(self) -> None:
        one = self.testbed
        if not one.enumerable:
            raise ValueError(f"testbed {one.name} is not enumerable")
        each = count(one.symbols, one.length)
        if len(one.measured) * each > MOST:
            raise ValueError(f"{one.name}: {len(one.measured)} tasks x {each} replies; expected no more than {MOST}")

    @property
    def replies(self) -> Replies:
        return replies(self.testbed.symbols, self.testbed.length)

    @cached_property
    def truth(self) -> Tensor:
        """What each reply is worth. [P, S] float64"""
        return self.of(self.testbed.truth)

    @cached_property
    def right(self) -> Tensor:
        """[P, S] bool"""
        return self.truth >= 0.5

    @cached_property
    def traits(self) -> dict[str, Tensor]:
        """The testbed's traits of each reply. [P, S] each"""
        return {name: self.of(trait) for name, trait in self.testbed.traits.items()}

    def of(self, what: Callable[[Task, str], float | None]) -> Tensor:
        """A number of each reply to each task, NaN for None. [P, S] float64"""
        rows = [[what(task, text) for text in self.replies.texts] for task in self.testbed.measured]
        return torch.tensor(
            [[float("nan") if value is None else float(value) for value in row] for row in rows], dtype=torch.float64
        )

    def logp(self, model: Model) -> Tensor:
        """Log-probability of each reply to each task. [P, S] float64"""
        prompts = [self.testbed.chat.prompt(task.prompt) for task in self.testbed.measured]
        return torch.stack([self._logp(model, prompt.tolist()) for prompt in prompts])

    def _logp(self, model: Model, prompt: Sequence[int]) -> Tensor:
        tokens, mask = self.replies.tokens, self.replies.mask
        rows = torch.cat([torch.tensor(prompt).expand(len(tokens), -1), tokens], 1)
        logits = model(rows).logits[:, len(prompt) - 1 : -1].double()
        each = logits.log_softmax(-1).gather(2, tokens[..., None])[..., 0]
        return torch.where(mask, each, 0.0).sum(1)

    def expected(self, model: Model, values: Tensor | None = None) -> Tensor:
        """Mean over tasks of the expectation of values [P, S] (None: the truth), differentiable. []"""
        return (self.logp(model).exp() * (self.truth if values is None else values)).sum(1).mean()

    def gradient(self, model: Model, values: Tensor | None = None) -> dict[str, Tensor]:
        """Exact gradient of `expected` in each parameter."""
        names, parameters = zip(*model.named_parameters(), strict=True)
        found = torch.autograd.grad(self.expected(model, values), parameters, allow_unused=True)
        return {
            name: torch.zeros_like(parameter) if one is None else one
            for name, parameter, one in zip(names, parameters, found, strict=True)
        }

    def kl(self, model: Model, other: Model) -> Tensor:
        """Mean over tasks of KL(model || other) between whole replies, in nats, differentiable. []"""
        mine = self.logp(model)
        return (mine.exp() * (mine - self.logp(other))).sum(1).mean()
