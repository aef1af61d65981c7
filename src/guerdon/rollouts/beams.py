"""Beams that differ from their first token on: the likeliest starts of a reply, each carried on greedily.

Each is scored by how sure the model is of its answer. The answer is found by asking for it: a cue is put after the
beam, the model goes on, and what it says is looked for in the beam (Wang & Zhou 2024, Chain-of-thought reasoning
without prompting, arXiv:2402.10200).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from guerdon.rewards.intrinsic import answer_span, disparity, span_confidence
from guerdon.rollouts.base import Context
from guerdon.types import Episode, Group, IntArray, Score, Span, Task

if TYPE_CHECKING:
    from torch import Tensor

    from guerdon.samplers.base import Sampler, Sampling

CONFIDENCE = "confidence"
"""Under which a beam's confidence is kept among its scores."""
CUE = ". So the answer is"


@dataclass
class TopTwo:
    """A logits hook that changes nothing and keeps the two largest probabilities, at temperature 1, of every step."""

    seen: list[tuple[float, float]] = field(default_factory=list)

    def __call__(self, logits: Tensor, ids: IntArray) -> Tensor:
        first, second = logits.softmax(-1).topk(2).values.tolist()
        self.seen.append((first, second))
        return logits


@dataclass(frozen=True)
class Confidence:
    """The score that `Beams` gave, as a reward that counts; it does not apply to what is no beam."""

    name: str = CONFIDENCE
    weight: float = 1.0

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        return [episode.scores.get(CONFIDENCE, Score()) for episode in group]


@dataclass(frozen=True)
class Beams:
    """`context.n` beams of a task, each with the score CONFIDENCE, in [-1, 1].

    role: whose model writes them. cue, answer_tokens: what asks for the answer, and how long it may be; without a cue
    the whole reply is the answer. last: of several mentions of the answer the last counts, not the first. Nothing was
    drawn: log-probabilities are 0.
    """

    role: str = "policy"
    cue: str = CUE
    answer_tokens: int = 20
    last: bool = False

    async def __call__(self, task: Task, context: Context) -> Group:
        if self.role not in context.samplers:
            raise KeyError(
                f"there is no model of the role {self.role!r} to write beams; there are {sorted(context.samplers)}. "
                "With adapters the reference cannot write: let the policy, with frozen=False"
            )
        prompt = context.chat.prompt(task.prompt)
        starts = await self._starts(prompt, context)
        return list(await asyncio.gather(*(self._grow(task, prompt, *start, context) for start in starts)))

    async def _starts(self, prompt: IntArray, context: Context) -> list[tuple[int, float]]:
        """The likeliest first tokens, each with its disparity."""
        how = _plain(context).but(max_tokens=1, temperature=1.0, top_logprobs=max(context.n, 2), stop_strings=())
        (sample,) = await self._sampler(context).sample(prompt, how, context.seeds(1, "start"))
        extra = sample.spans[-1].extra
        ids, chances = extra["top_ids"][0].tolist(), np.exp(extra["top_logprobs"][0]).tolist()
        return [(ids[i], disparity(chances[i], chances[1])) for i in range(min(context.n, len(ids)))]

    async def _grow(self, task: Task, prompt: IntArray, first: int, certainty: float, context: Context) -> Episode:
        tokens, text, stop, sure = [first], context.chat.decode([first]), "length", [certainty]
        sampler, how, watch = self._sampler(context), _plain(context), TopTwo()
        if first in how.stop_tokens:
            stop = "stop"
        elif how.max_tokens > 1:
            told = how.but(max_tokens=how.max_tokens - 1, prefix=(first,), logits_hook=watch)
            (sample,) = await sampler.sample(prompt, told, context.seeds(1, "beam", first))
            tokens += [int(token) for span in sample.spans[1:] for token in span.tokens]
            text, stop = sample.text, sample.stop
            sure += [disparity(*chances) for chances in watch.seen]
        span = await self._answer(prompt, tokens, context)
        score = Score(span_confidence(sure, span), parts={"answer_tokens": float(len(span))})
        reply = Span(np.array(tokens), np.zeros(len(tokens), np.float32), 0, sampler.version)
        reply.message = {"role": "assistant", "content": text}
        return Episode(task, [Span(prompt), reply], {CONFIDENCE: score}, stop="stop" if stop == "stop" else "length")

    async def _answer(self, prompt: IntArray, tokens: list[int], context: Context) -> list[int]:
        """Where in the beam its answer stands."""
        how = _plain(context).but(max_tokens=self.answer_tokens, stop_strings=())
        if not self.cue:
            return answer_span(tokens, tokens, _silent(tokens, context))
        said = [token for token in tokens if token not in how.stop_tokens]
        asked = np.concatenate([prompt, np.array(said, np.int64), context.chat.encode(self.cue)])
        (sample,) = await self._sampler(context).sample(asked, how, context.seeds(1, "answer"))
        answer = [int(token) for token in sample.spans[-1].tokens]
        return answer_span(tokens, answer, _silent([*tokens, *answer], context), self.last)

    def _sampler(self, context: Context) -> Sampler:
        return context.samplers[self.role]


def _silent(tokens: list[int], context: Context) -> set[int]:
    """Those that are no part of an answer: special ones, white space and full stops."""
    return {token for token in set(tokens) if context.chat.decode([token]).strip() in ("", ".")}


def _plain(context: Context) -> Sampling:
    """Greedy, and nothing ruled out."""
    return context.how.but(temperature=0.0, top_p=1.0, top_k=0, min_p=0.0, prefix=(), logits_hook=None)
