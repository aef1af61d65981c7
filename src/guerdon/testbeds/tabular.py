"""A policy that is a table: a row of logits for each prompt and prefix. Whatever a method does to it can be counted.

A prompt is one id of its own (`Symbols.prompt`); what follows it, sampled or given, is the prefix. With fewer symbols
of context than a reply is long, a row stands for all prefixes of its length that end alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from guerdon.testbeds.model import Config, Hidden, Model, causal
from guerdon.testbeds.symbols import Symbols
from guerdon.types import IntArray


class Prefixes(nn.Module):
    """A row of `width` numbers for each prompt and prefix of fewer than `length` symbols, 0 at first.

    order: how many of the last symbols tell prefixes apart; None: all of them.
    """

    config = Config()

    def __init__(self, symbols: Symbols, length: int, width: int, order: int | None = None) -> None:
        super().__init__()
        if symbols.prompts < 1 or length < 1:
            raise ValueError(f"{symbols.prompts} prompts and replies of {length} symbols; expected at least 1 of each")
        self.symbols, self.length = symbols, length
        self.order = min(length - 1, length if order is None else order)
        counts: list[int] = [symbols.size ** min(place, self.order) for place in range(length)]
        self.rows = sum(counts)
        self.table = nn.Parameter(torch.zeros(symbols.prompts * self.rows, width))
        first = torch.tensor([0, *counts[:-1]]).cumsum(0)  # [length] row of the first prefix of each length
        powers = symbols.size ** torch.arange(max(1, self.order))
        self.register_buffer("first", first, persistent=False)
        self.register_buffer("powers", powers, persistent=False)

    first: Tensor
    powers: Tensor

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        **how: Any,
    ) -> Hidden:
        """The row of the prefix that ends with each token. [R, L] -> [R, L, width]

        Prefixes longer than the table knows, of which nobody asks, have the row of its longest.
        """
        visible, places = causal(input_ids, attention_mask, position_ids)
        seen = visible & (places[:, None] > 0)  # [., query, key]
        back = places[:, :, None] - places[:, None]
        weight = torch.where(seen & (back < self.order), self.powers[back.clamp(0, len(self.powers) - 1)], 0)
        symbol = input_ids * (places > 0)
        code = (weight * symbol[:, None]).sum(-1)  # [R, L]
        root = visible & (places[:, None] == 0)
        prompt = (root * input_ids[:, None]).sum(-1) - self.symbols.size
        rows = self._row(prompt, places.clamp(max=self.length - 1), code)
        return Hidden(nn.functional.embedding(rows, self.table))

    def _row(self, prompt: Tensor, place: Tensor, code: Tensor) -> Tensor:
        """Padding, whose prompt is none, has row 0."""
        rows: Tensor = prompt * self.rows + self.first[place] + code
        return rows.clamp(0, len(self.table) - 1)

    def row(self, prompt: int, prefix: str = "") -> int:
        """Where the row of a prompt and a prefix is in `table`."""
        ids = self.symbols.encode(prefix)
        recent = ids[max(0, len(ids) - self.order) :] if self.order else []
        code = 0
        for symbol in recent:
            code = code * self.symbols.size + symbol
        return prompt * self.rows + int(self.first[len(ids)]) + code


class Identity(nn.Module):
    """A head for states that are logits already; `weight` says how many there are."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.zeros(size, 0), persistent=False)

    def forward(self, hidden: Tensor) -> Tensor:
        return hidden


class TabularPolicy(Model):
    """Logits for each prompt and prefix, all 0 at first.

    `policy.set(prompt, "ab", {"c": 2.0})` changes what it begins with.
    """

    trunk: Prefixes

    def __init__(self, symbols: Symbols, length: int, order: int | None = None) -> None:
        super().__init__(symbols)
        self.trunk = Prefixes(symbols, length, symbols.size, order)
        self.head = Identity(symbols.size)

    @property
    def table(self) -> nn.Parameter:
        """[prompts * rows, V] logits."""
        return self.trunk.table

    @torch.no_grad()
    def set(self, prompt: int, prefix: str, logits: dict[str, float]) -> None:
        """The logits of these symbols after a prompt and a prefix; the others keep theirs."""
        for symbol, value in logits.items():
            self.table[self.trunk.row(prompt, prefix), self.symbols.encode(symbol)[0]] = value

    @torch.no_grad()
    def add(self, prompt: int, prefix: str, symbol: str, amount: float) -> None:
        """To the logit of a symbol after a prompt and a prefix."""
        self.table[self.trunk.row(prompt, prefix), self.symbols.encode(symbol)[0]] += amount

    def decoding(self, prompts: Sequence[IntArray]) -> Rows:
        return Rows(self.trunk, prompts)

    def values(self) -> TabularValues:
        """A value of each prompt and prefix, 0 at first: what a method with a value model learns beside the policy."""
        return TabularValues(self.symbols, self.trunk.length, self.trunk.order)


class Rows:
    """Continues prompts with a table: what is kept of a row is its prompt, its length and its last symbols."""

    def __init__(self, trunk: Prefixes, prompts: Sequence[IntArray]) -> None:
        self.trunk = trunk
        self.prompt = torch.tensor([int(one[0]) for one in prompts]) - trunk.symbols.size
        self.place = torch.tensor([len(one) - 1 for one in prompts])
        tails = [one[max(1, len(one) - trunk.order) :] if trunk.order else one[:0] for one in prompts]
        size = trunk.symbols.size
        self.code = torch.tensor([sum(int(s) * size**k for k, s in enumerate(reversed(tail))) for tail in tails])
        self._look_up()

    def step(self, tokens: Tensor, kept: Tensor | None) -> None:
        if kept is not None:
            self.prompt, self.place, self.code = self.prompt[kept], self.place[kept], self.code[kept]
        size, order = self.trunk.symbols.size, self.trunk.order
        self.code = (self.code * size + tokens) % size**order if order else torch.zeros_like(tokens)
        self.place = self.place + 1
        self._look_up()

    def _look_up(self) -> None:
        rows = self.trunk._row(self.prompt, self.place, self.code)
        self.logits = nn.functional.embedding(rows, self.trunk.table)


class TabularValues(nn.Module):
    """A number for each prompt and prefix, as `guerdon.likelihoods.autoregressive.Values` reads it."""

    def __init__(self, symbols: Symbols, length: int, order: int | None = None) -> None:
        super().__init__()
        self.trunk = Prefixes(symbols, length, 1, order)

    def forward(self, hidden: Tensor) -> Tensor:
        """[..., 1] -> [...]"""
        return hidden.squeeze(-1)
