"""A transformer over symbols, small enough to be taught in seconds; unlike a table it learns across prompts."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, gelu, scaled_dot_product_attention

from guerdon.models.heads import ValueHead
from guerdon.testbeds.model import Config, Hidden, Model
from guerdon.testbeds.symbols import Symbols
from guerdon.types import IntArray

Cache = tuple[Tensor, Tensor]
"""Keys and values of a layer. [R, heads, L, width / heads] each"""


class Block(nn.Module):
    """Attention with rotated places, then a layer of twice the width, each on normalised states."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attend, self.join = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 2 * width, bias=False), nn.Linear(2 * width, width, bias=False)

    def forward(self, states: Tensor, turn: Cache, visible: Tensor | None, cache: _Layer | None = None) -> Tensor:
        """[R, L, width]; turn: cosine and sine of each place; visible: [R, 1, L, keys] bool, None: causal."""
        rows, length, width = states.shape
        q, k, v = self.attend(self.before(states)).view(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k = _turned(q, turn), _turned(k, turn)
        if cache is not None:
            k, v = cache.put(k, v)
        seen = scaled_dot_product_attention(q, k, v, attn_mask=visible, is_causal=visible is None and length > 1)
        states = states + self.join(seen.transpose(1, 2).reshape(rows, length, width))
        made: Tensor = self.down(gelu(self.up(self.after(states))))
        return states + made


def _turned(x: Tensor, turn: Cache) -> Tensor:
    """Pairs of numbers turned by an angle that grows with the place (Su et al. 2021, RoFormer). [R, heads, L, D]"""
    first, second = x.chunk(2, -1)
    cosine, sine = turn
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], -1)


class Trunk(nn.Module):
    """Ids to states."""

    config = Config()

    def __init__(self, size: int, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.embed = nn.Parameter(torch.randn(size, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        half = width // heads // 2
        self.register_buffer("speed", 100.0 ** -(torch.arange(half) / half), persistent=False)

    speed: Tensor

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        cache: list[_Layer] | None = None,
        **how: Any,
    ) -> Hidden:
        """[R, L] -> [R, L, width]"""
        places = torch.arange(input_ids.shape[1])[None] if position_ids is None else position_ids
        angle = places[:, None, :, None] * self.speed
        turn = (angle.cos(), angle.sin())
        states = embedding(input_ids, self.embed)
        for number, block in enumerate(self.blocks):
            states = block(states, turn, attention_mask, None if cache is None else cache[number])
        return Hidden(self.norm(states))


class SmallPolicy(Model):
    """A decoder-only transformer. Equal seeds give equal weights; `width` is a multiple of 2 `heads`."""

    trunk: Trunk
    head: nn.Linear

    def __init__(self, symbols: Symbols, seed: int, width: int = 48, layers: int = 2, heads: int = 4) -> None:
        super().__init__(symbols)
        if symbols.prompts:
            raise ValueError(f"{symbols.prompts} prompts have an id of their own; expected prompts of symbols")
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.trunk = Trunk(symbols.size, width, layers, heads)
            self.head = nn.Linear(width, symbols.size, bias=False)

    def decoding(self, prompts: Sequence[IntArray]) -> Continued:
        return Continued(self, prompts)

    def values(self) -> nn.Module:
        """A value model that begins with this policy's states, and gives 0."""
        return ValueHead(copy.deepcopy(self))


class _Layer:
    """Keys and values of the rows that are being continued, of one layer; grows by one place at a time."""

    def __init__(self) -> None:
        self.keys = self.values = torch.empty(0)
        self.where: Tensor | None = None

    def put(self, k: Tensor, v: Tensor) -> Cache:
        """Add what is new: all places of the prompts at first, then one place of each row, at `where`."""
        if self.where is None:
            self.keys, self.values = k, v
            return k, v
        rows = torch.arange(len(k))
        self.keys[rows, :, self.where], self.values[rows, :, self.where] = k[:, :, 0], v[:, :, 0]
        return self.keys, self.values

    def take(self, rows: Tensor, room: int) -> None:
        """Keep these rows, with `room` more places."""
        self.keys, self.values = (nn.functional.pad(x[rows], (0, 0, 0, room)) for x in (self.keys, self.values))


class Continued:
    """Continues prompts; each different prompt is read once."""

    ROOM = 8
    """Places by which caches grow."""

    def __init__(self, model: SmallPolicy, prompts: Sequence[IntArray]) -> None:
        self.model = model
        keys = [prompt.tobytes() for prompt in prompts]
        first = {key: place for place, key in reversed(list(enumerate(keys)))}
        distinct = [prompts[place] for place in sorted(first.values())]
        lengths = torch.tensor([len(prompt) for prompt in distinct])
        ids = np.zeros((len(distinct), int(lengths.max())), dtype=np.int64)  # padded on the right, which nobody sees
        for row, prompt in zip(ids, distinct, strict=True):
            row[: len(prompt)] = prompt
        self.cache = [_Layer() for _ in model.trunk.blocks]
        states = model.trunk(torch.from_numpy(ids), cache=self.cache).last_hidden_state
        logits = model.head(states[torch.arange(len(distinct)), lengths - 1])
        order = {prompt.tobytes(): row for row, prompt in enumerate(distinct)}
        self._take(rows := torch.tensor([order[key] for key in keys]), self.ROOM)
        self.length, self.logits = lengths[rows], logits[rows]

    def step(self, tokens: Tensor, kept: Tensor | None) -> None:
        if kept is not None:
            self.length = self.length[kept]
        longest, capacity = int(self.length.max()) + 1, self.cache[0].keys.shape[2]
        if kept is not None or longest > capacity:
            rows = torch.arange(len(tokens)) if kept is None else kept
            self._take(rows, self.ROOM if longest > capacity else 0)
        for layer in self.cache:
            layer.where = self.length
        visible = torch.arange(self.cache[0].keys.shape[2]) <= self.length[:, None]
        states = self.model.trunk(
            tokens[:, None], visible[:, None, None], self.length[:, None], self.cache
        ).last_hidden_state
        self.length = self.length + 1
        self.logits = self.model.head(states[:, 0])

    def _take(self, rows: Tensor, room: int) -> None:
        for layer in self.cache:
            layer.take(rows, room)
