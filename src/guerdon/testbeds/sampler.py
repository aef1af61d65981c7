"""Sampling from the policies of testbeds: everything that was asked for at once is decoded at once, to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from guerdon.samplers.base import Sample, Sampling
from guerdon.samplers.draw import Rule, draw
from guerdon.testbeds.model import Model
from guerdon.types import FloatArray, IntArray, Span

Noise = Callable[[Tensor, Tensor], Tensor]
"""(logits [R, V], uniforms in [0, 1) [R]) -> logits [R, V]: what is wrong with a sampler, but not with the policy."""


def swapped(share: float) -> Noise:
    """Of a share of all positions the logits of the two likeliest symbols are swapped."""

    def corrupt(logits: Tensor, uniforms: Tensor) -> Tensor:
        values, ids = logits.topk(2)
        return torch.where(uniforms[:, None] < share, logits.scatter(1, ids, values.flip(1)), logits)

    return corrupt


@dataclass
class _Asked:
    """A call that has not been answered."""

    prompt: IntArray
    how: Sampling
    seeds: Sequence[int]
    future: asyncio.Future[list[Sample]]


@dataclass
class StepSampler:
    """Samples from a `Model`, which whoever trains it shares.

    Does what `Sampling` says but for stop strings and logits hooks, of which symbols have no need. `sampled_tokens`
    counts what was drawn.
    """

    model: Model
    noise: Noise | None = None
    version: int = 0
    sampled_tokens: int = 0
    _asked: list[_Asked] = field(default_factory=list)

    async def sample(self, prompt: Sequence[int] | IntArray, how: Sampling, seeds: Sequence[int]) -> list[Sample]:
        """One completion per seed, in order. What a seed draws depends on nothing but the seed. See `Sampler`."""
        if how.stop_strings or how.logits_hook is not None:
            raise ValueError("testbeds sample symbols: expected no stop_strings and no logits_hook")
        asked = _Asked(np.asarray(prompt, dtype=np.int64), how, seeds, asyncio.get_running_loop().create_future())
        if not len(asked.prompt):
            raise ValueError("the prompt is empty; expected at least one id")
        self._asked.append(asked)
        await asyncio.sleep(0)  # let every caller that is ready ask before the first is answered
        await asyncio.sleep(0)
        if self._asked:
            self._answer()
        return await asked.future

    def load(self, weights: Any, version: int) -> None:
        """Take new weights: None if the shared module already holds them, else a state dict (strict)."""
        if weights is not None:
            self.model.load_state_dict(weights)
        self.version = version

    def _answer(self) -> None:
        asked, self._asked = [one for one in self._asked if not one.future.done()], []
        for how in dict.fromkeys(one.how for one in asked):
            alike = [one for one in asked if one.how == how]
            try:
                rows = self._decode([one.prompt for one in alike for _ in one.seeds], how, _seeds(alike))
            except Exception as error:
                for one in alike:
                    one.future.set_exception(error)
                continue
            for one in alike:
                one.future.set_result([next(rows) for _ in one.seeds])

    @torch.inference_mode()
    def _decode(self, prompts: list[IntArray], how: Sampling, seeds: NDArray[np.uint64]) -> Any:
        """Completions of all prompts, in order."""
        rule, limit = Rule.of(how), how.max_tokens
        numbers = uniforms(seeds, limit)  # [R, T]
        given = np.asarray(how.prefix, dtype=np.int64)
        decoding = self.model.decoding([np.concatenate([prompt, given]) for prompt in prompts])
        drawn = _Drawn(len(prompts), limit)
        live = np.arange(len(prompts))
        for place in range(limit):
            logits = decoding.logits
            if self.noise is not None:
                logits = self.noise(logits, torch.from_numpy(uniforms(seeds[live] + _OTHER, limit)[:, place]))
            found = draw(logits, rule, numbers[live, place].tolist())
            tokens = np.asarray(found.tokens)
            drawn.put(live, place, tokens, found)
            going = ~np.isin(tokens, how.stop_tokens) if place + 1 < limit else np.zeros(len(live), dtype=bool)
            live = live[going]
            if not len(live):
                break
            kept = None if going.all() else torch.from_numpy(np.flatnonzero(going))
            decoding.step(torch.from_numpy(tokens[going]), kept)
        self.sampled_tokens += int(drawn.length.sum())
        return (self._sample(drawn, row, how, given) for row in range(len(prompts)))

    def _sample(self, drawn: _Drawn, row: int, how: Sampling, given: IntArray) -> Sample:
        count = int(drawn.length[row])
        tokens = drawn.tokens[row, :count].copy()
        text = self.model.symbols.decode([*given, *tokens])
        stopped = bool(tokens[-1] in how.stop_tokens)
        extra = {"temperature": float(how.temperature), **drawn.streams(row, count)}
        span = Span(tokens, drawn.logprobs[row, :count].copy(), version=self.version, extra=extra)
        span.message = {"role": "assistant", "content": text}
        spans = [span] if not len(given) else [Span(given, version=self.version), span]
        span.parent = len(spans) - 2
        return Sample(spans, "stop" if stopped else "length", text)


class _Drawn:
    """What was drawn for each of R rows of at most T symbols."""

    def __init__(self, rows: int, limit: int) -> None:
        self.tokens: IntArray = np.zeros((rows, limit), dtype=np.int64)
        self.logprobs: FloatArray = np.zeros((rows, limit), dtype=np.float32)
        self.length = np.zeros(rows, dtype=np.int64)
        self.more: dict[str, list[list[Any]]] = {}

    def put(self, live: IntArray, place: int, tokens: IntArray, found: Any) -> None:
        self.tokens[live, place] = tokens
        self.logprobs[live, place] = found.logprobs
        self.length[live] = place + 1
        for name in ("support", "entropy", "top_ids", "top_logprobs"):
            stream = getattr(found, name)
            if stream is not None:
                rows = self.more.setdefault(name, [[] for _ in self.length])
                for row, value in zip(live, stream, strict=True):
                    rows[row].append(value)

    def streams(self, row: int, count: int) -> dict[str, Any]:
        return {name: rows[row] if name == "support" else np.asarray(rows[row]) for name, rows in self.more.items()}


_OTHER = np.uint64(0x5851F42D4C957F2D)
"""Sets the numbers of the noise apart from those of the draws."""


def _seeds(asked: Sequence[_Asked]) -> NDArray[np.uint64]:
    return np.array([seed % 2**64 for one in asked for seed in one.seeds], dtype=np.uint64)


def uniforms(seeds: NDArray[np.uint64], count: int) -> NDArray[np.float64]:
    """Numbers in [0, 1) of each seed, the i-th the same whatever the count. [R] -> [R, count]

    SplitMix64 (Steele, Lea and Flood 2014, OOPSLA) at place i of the stream that begins at the mixed seed.
    """
    place = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray((_mixed(_mixed(seeds)[:, None] + place) >> np.uint64(11)) * 2.0**-53)


def _mixed(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
