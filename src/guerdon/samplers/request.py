"""What is being sampled: a request (one prompt, several seeds) and its rows (one completion each)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from guerdon.samplers.base import Sample, Sampling
from guerdon.samplers.decoder import Prefilled
from guerdon.samplers.draw import Drawn, Rule
from guerdon.samplers.text import Decode, StopWatch, text_of
from guerdon.types import IntArray, Span


class Request:
    """One call of `sample`: its rows share the prompt, which is prefilled once; `future` gets the list of samples."""

    def __init__(
        self, prompt: IntArray, how: Sampling, seeds: Sequence[int], room: int, decode: Decode, future: asyncio.Future
    ) -> None:
        self.how, self.rule, self.decode, self.future = how, Rule.of(how), decode, future
        self.prompt = np.concatenate([prompt, np.asarray(how.prefix, dtype=np.int64)])
        self.prefilled: Prefilled | None = None
        self.waiting = [Row(self, seed, min(how.max_tokens, room)) for seed in seeds]
        self._rows = list(self.waiting)
        self.waiting.reverse()

    def finish_if_done(self) -> None:
        if not self.future.done() and all(row.stop for row in self._rows):
            self.future.set_result([row.sample() for row in self._rows])

    def fail(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class Row:
    """One completion under way: its ids so far, and what was recorded when each was drawn."""

    def __init__(self, request: Request, seed: int, limit: int) -> None:
        self.request, self.seed = request, seed
        self.start = len(request.prompt)
        self.slot = -1
        self.stop: Literal["", "stop", "length"] = ""
        self.logprobs: list[float] = []
        self._versions: list[int] = []
        self._streams: dict[str, list[Any]] = {}
        self.limit = self.start + limit
        self._ids = np.concatenate([request.prompt, np.zeros(limit, dtype=np.int64)])
        # Counter-based and keyed by the seed alone: the i-th token always sees the i-th number.
        self._uniforms = np.random.Generator(np.random.Philox(key=int(seed) % 2**128)).random(limit).tolist()
        how = request.how
        self._watch = StopWatch(request.decode, how.stop_strings, how.prefix) if how.stop_strings else None

    @property
    def ids(self) -> IntArray:
        """Everything the next token is conditioned on: prompt, forced prefix, and what was sampled."""
        return self._ids[: self.start + len(self.logprobs)]

    @property
    def length(self) -> int:
        return self.start + len(self.logprobs)

    @property
    def last(self) -> int:
        return int(self._ids[self.length - 1])

    @property
    def uniform(self) -> float:
        """The random number of the next token, in [0, 1)."""
        return float(self._uniforms[len(self.logprobs)])

    def take(self, drawn: Drawn, index: int, version: int) -> None:
        """Append what was drawn for this row, and see whether that ends it."""
        token, length = drawn.tokens[index], self.length
        self._ids[length] = token
        self.logprobs.append(drawn.logprobs[index])
        self._versions.append(version)
        for name, stream in drawn.streams.items():
            self._record(name, stream[index])
        if token in self.request.how.stop_tokens or (self._watch is not None and self._watch.push(token)):
            self.stop = "stop"
        elif length + 1 == self.limit:
            self.stop = "length"

    def _record(self, name: str, value: Any) -> None:
        values = self._streams.setdefault(name, [])
        # A hook often leaves the same large support at every token: keep one copy of it.
        if name == "support" and values and np.array_equal(values[-1], value):
            value = values[-1]
        values.append(value)

    def sample(self) -> Sample:
        how, tokens = self.request.how, self._ids[self.start : self.length]
        said = tokens[:-1] if tokens[-1] in how.stop_tokens else tokens
        text = text_of(self.request.decode, list(how.prefix), said.tolist(), how.stop_strings)
        spans = [Span(np.asarray(how.prefix), version=self._versions[0])] if how.prefix else []
        for first, end in _runs(self._versions):
            spans.append(self._span(first, end, parent=len(spans) - 1))
        spans[-1].message = {"role": "assistant", "content": text}
        return Sample(spans, "stop" if self.stop == "stop" else "length", text)

    def _span(self, first: int, end: int, parent: int) -> Span:
        extra: dict[str, Any] = {"temperature": float(self.request.how.temperature)}
        for name, values in self._streams.items():
            part = values[first:end]
            extra[name] = part if name == "support" else np.asarray(part, dtype=_DTYPES[name])
        tokens = self._ids[self.start + first : self.start + end].copy()
        logprobs = np.asarray(self.logprobs[first:end], dtype=np.float32)
        return Span(tokens, logprobs, parent=parent, version=self._versions[first], extra=extra)


_DTYPES = {"entropy": np.float32, "top_ids": np.int64, "top_logprobs": np.float32}


def _runs(values: Sequence[int]) -> list[tuple[int, int]]:
    """Bounds of the stretches of equal values."""
    edges = [i for i in range(1, len(values)) if values[i] != values[i - 1]]
    return list(zip([0, *edges], [*edges, len(values)], strict=True))
