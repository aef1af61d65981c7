"""Sampling in this process from a module that may be the trainer's own: continuous batching in one asyncio task.

Callers hand in requests; one pump task admits their rows into slots as slots fall free, decodes one position of all
rows that are live, and yields to the loop. Everything runs inline on the event loop's thread: no locks, and a batch's
composition depends only on the order of calls.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from guerdon.samplers.base import Sample, Sampling
from guerdon.samplers.decoder import Decoder
from guerdon.samplers.draw import Rule, draw
from guerdon.samplers.request import Request, Row
from guerdon.types import IntArray

_SOON = 64
"""Tokens for which new rows get room at once; a row may be allowed many more than it ever takes."""


class LocalSampler:
    """Samples from a Hugging Face causal LM (plain or with LoRA) shared with whoever trains it.

    slots: completions decoded at once. Memory for keys and values grows with the rows and lengths really reached, and
    is given back once nothing is left to sample.
    Counters: `sampled_tokens`; `prompt_tokens` that went through the model to fill a cache (a group's prompt counts
    once); `seconds` spent computing.
    """

    def __init__(self, module: nn.Module, tokenizer: Any, *, slots: int = 64, version: int = 0) -> None:
        if slots < 1:
            raise ValueError(f"slots is {slots}; expected at least 1")
        self.module, self.tokenizer, self.slots, self.version = module, tokenizer, slots, version
        self.sampled_tokens = 0
        self.prompt_tokens = 0
        self.seconds = 0.0
        self._decoder = Decoder(module)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pump: asyncio.Task[None] | None = None
        self._clear()

    def _clear(self) -> None:
        self._open: dict[Request, None] = {}  # every unanswered request, in order of arrival
        self._queue: deque[Request] = deque()  # those with rows that have no slot yet
        self._rows: list[Row | None] = []  # by slot; None only between a row's end and the next admission
        self._stale = False
        self._decoder.reset()

    async def sample(self, prompt: Sequence[int] | IntArray, how: Sampling, seeds: Sequence[int]) -> list[Sample]:
        """One completion per seed, in order. See `Sampler`.

        `logits_hook` sees the logits [V] in float32 and every id so far, prompt included. ValueError for a prompt
        that is empty, that leaves no position to sample, or that holds ids outside the vocabulary.
        """
        ids = np.asarray(prompt, dtype=np.int64)
        room = self._room(ids, how)
        if not seeds:
            return []
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # an earlier loop may have been closed with rows in flight
            self._clear()
            self._loop, self._pump = loop, None
        request = Request(ids, how, seeds, room, self._decode, loop.create_future())
        self._open[request] = None
        self._queue.append(request)
        if self._pump is None:
            self._pump = loop.create_task(self._run(), name="guerdon-local-sampler")
        samples: list[Sample] = await request.future
        return samples

    def load(self, weights: Any, version: int) -> None:
        """Take new weights: None if the shared module already holds them, else a state dict (strict).

        Completions under way go on from the new weights: their keys and values are computed again before the next
        token, which starts a new span with the new version.
        """
        if weights is not None:
            with torch.no_grad():
                self.module.load_state_dict(weights)
        self.version = version
        self._decoder.look()
        self._stale = any(row is not None for row in self._rows)
        for request in self._queue:
            request.prefilled = None

    def _room(self, ids: IntArray, how: Sampling) -> int:
        if ids.ndim != 1 or not len(ids):
            raise ValueError(f"the prompt has shape {ids.shape}; expected at least one id (a begin token will do)")
        given = np.concatenate([ids, np.asarray(how.prefix, dtype=np.int64)])
        wrong = given[(given < 0) | (given >= self._decoder.vocab)]
        if len(wrong):
            raise ValueError(f"the prompt holds id {wrong[0]}; the model knows ids 0..{self._decoder.vocab - 1}")
        room = self._decoder.max_positions - len(given)
        if room < 1:
            raise ValueError(
                f"the prompt has {len(ids)} tokens and {len(how.prefix)} forced ones, which leaves nothing to sample: "
                f"the model has {self._decoder.max_positions} positions. Shorten the prompt or drop the task"
            )
        return room

    def _decode(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True))

    async def _run(self) -> None:
        try:
            await asyncio.sleep(0)  # let every caller that is ready submit before the first admission,
            await asyncio.sleep(0)  # so that batches do not depend on who came first by a hair
            while self._open:
                self._advance()
                await asyncio.sleep(0)
            self._clear()  # the trainer may need the memory of the keys and values before the next call
        except asyncio.CancelledError:
            for request in self._open:
                request.future.cancel()
            self._clear()
            raise
        except Exception as error:
            for request in self._open:
                request.fail(error)
            self._clear()
        finally:
            self._pump = None

    def _advance(self) -> None:
        """Admit what fits, then decode one token of every live row."""
        started = time.perf_counter()
        with torch.inference_mode(), _evaluating(self.module):
            self._forget_answered()
            if self._stale:
                self._recompute()
            self._admit()
            self._close_gaps()
            if self._rows:
                rows = self._live()
                logits = self._decoder.step([row.last for row in rows], [row.length - 1 for row in rows])
                self._draw(rows, logits)
        self._forget_answered()
        self.seconds += time.perf_counter() - started

    def _live(self) -> list[Row]:
        return [row for row in self._rows if row is not None]

    def _forget_answered(self) -> None:
        """Drop requests that are finished, failed, or whose caller was cancelled, and free their slots."""
        gone = [request for request in self._open if request.future.done()]
        if not gone:
            return
        for request in gone:
            del self._open[request]
        self._queue = deque(request for request in self._queue if not request.future.done())
        self._rows = [None if row is None or row.request.future.done() else row for row in self._rows]

    def _recompute(self) -> None:
        """Rewrite the cache of live rows with the weights of now; their newest token is not in it yet."""
        rows = [row for row in self._live() if row.length > 1]
        for index, prefilled in self._decoder.prefill([row.ids[:-1] for row in rows]):
            self._decoder.cache.put([rows[index].slot], prefilled.states)
            self.prompt_tokens += rows[index].length - 1
        self._stale = False

    def _admit(self) -> None:
        while rows := self._next_rows():
            requests = list(dict.fromkeys(row.request for row in rows))
            self._prefill([request for request in requests if request.prefilled is None])
            assert requests[0].prefilled is not None
            soon = max(min(row.limit, row.length + _SOON) for row in rows)
            self._decoder.cache.make_room(len(self._rows), soon, requests[0].prefilled.states)
            logits = []
            for request in requests:
                mine = [row for row in rows if row.request is request]
                assert request.prefilled is not None
                self._decoder.cache.put([row.slot for row in mine], request.prefilled.states)
                logits += [request.prefilled.logits] * len(mine)
                if not request.waiting:
                    request.prefilled = None
            self._draw(rows, torch.stack(logits))

    def _next_rows(self) -> list[Row]:
        """Rows that get a slot now: first come, first served, holes before new slots."""
        free = [slot for slot, row in enumerate(self._rows) if row is None]
        rows: list[Row] = []
        while self._queue and (free or len(self._rows) < self.slots):
            row = self._queue[0].waiting.pop()
            if not self._queue[0].waiting:
                self._queue.popleft()
            if free:
                row.slot = free.pop(0)
                self._rows[row.slot] = row
            else:
                row.slot = len(self._rows)
                self._rows.append(row)
            rows.append(row)
        return rows

    def _prefill(self, requests: list[Request]) -> None:
        for index, prefilled in self._decoder.prefill([request.prompt for request in requests]):
            requests[index].prefilled = prefilled
            self.prompt_tokens += len(requests[index].prompt)

    def _close_gaps(self) -> None:
        """Move rows from the end into holes, so that live rows are 0..R-1."""
        holes = [slot for slot, row in enumerate(self._rows) if row is None]
        while holes:
            row = self._rows.pop()
            if row is None:
                holes.pop()  # the last slot was itself the last hole
                continue
            target = holes.pop(0)
            self._decoder.cache.move(row.slot, target, row.length - 1)
            self._rows[target], row.slot = row, target

    def _draw(self, rows: list[Row], logits: Tensor) -> None:
        """Give each row its next token from its logits [R, V]; rows that end leave their slot."""
        logits = _hooked(rows, logits)
        by_rule: dict[Rule, list[int]] = {}
        for i, row in enumerate(rows):
            by_rule.setdefault(row.request.rule, []).append(i)
        for rule, picks in by_rule.items():
            chosen = logits if len(picks) == len(rows) else logits[picks]
            drawn = draw(chosen, rule, [rows[i].uniform for i in picks])
            for place, i in enumerate(picks):
                if drawn.logprobs[place] != drawn.logprobs[place]:
                    rows[i].request.fail(_no_distribution(rows[i]))
                rows[i].take(drawn, place, self.version)
        self.sampled_tokens += len(rows)
        for row in rows:
            if row.stop:
                self._rows[row.slot] = None
                row.request.finish_if_done()


def _hooked(rows: list[Row], logits: Tensor) -> Tensor:
    """Logits [R, V] after each row's own hook, if any has one. A hook that raises fails its own request only."""
    if not any(row.request.how.logits_hook for row in rows):
        return logits
    logits = logits.float().clone()
    for i, row in enumerate(rows):
        hook = row.request.how.logits_hook
        if hook is None or row.request.future.done():
            continue
        try:
            logits[i] = hook(logits[i].clone(), row.ids.copy())
        except Exception as error:
            row.request.fail(error)
    return logits


def _no_distribution(row: Row) -> FloatingPointError:
    cause = "its logits_hook left no token" if row.request.how.logits_hook else "the model's logits are NaN or infinite"
    return FloatingPointError(
        f"no token can be drawn for seed {row.seed} after {row.start} prompt and {len(row.logprobs)} sampled tokens: "
        f"{cause}"
    )


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """Every submodule in evaluation mode (no dropout, no checkpointing), and each back as it was afterwards."""
    training = [part for part in module.modules() if part.training]
    for part in training:
        part.training = False
    try:
        yield
    finally:
        for part in training:
            part.training = True
