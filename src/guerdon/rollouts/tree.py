"""Branching rollouts: a trunk is sampled once and continued several times, so that credit can be told apart.

One episode holds the whole tree. Every leaf is a path with its own score; a trunk of k leaves is trained on once, with
weight 1/k on each of its paths.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from guerdon.rollouts.base import Context
from guerdon.rollouts.single import append
from guerdon.samplers.base import Sampling
from guerdon.types import Episode, Group, IntArray, Span, Task


@dataclass(frozen=True)
class Branching:
    """`trunks` first parts of up to `trunk_tokens` tokens, each continued `branches` times unless it already ended."""

    trunk_tokens: int
    trunks: int = 2
    branches: int = 4

    async def __call__(self, task: Task, context: Context) -> Group:
        prompt = context.chat.prompt(task.prompt)
        how = context.how.but(max_tokens=min(self.trunk_tokens, context.how.max_tokens))
        trunks = await context.samplers["policy"].sample(prompt, how, context.seeds(self.trunks, "trunk"))
        return list(
            await asyncio.gather(*(self._grow(task, context, prompt, t.spans, t.stop, i) for i, t in enumerate(trunks)))
        )

    async def _grow(
        self, task: Task, context: Context, prompt: IntArray, trunk: list[Span], stop: str, number: int
    ) -> Episode:
        spans = [Span(prompt)]
        tip = append(spans, trunk, after=0)
        left = context.how.max_tokens - sum(len(span.tokens) for span in trunk if span.sampled)
        if stop == "stop" or left < 1:
            return Episode(task, spans, stop="stop" if stop == "stop" else "length")
        so_far = [int(token) for span in spans for token in span.tokens]
        how: Sampling = context.how.but(max_tokens=left, prefix=())
        branches = await context.samplers["policy"].sample(so_far, how, context.seeds(self.branches, "branch", number))
        for branch in branches:
            append(spans, branch.spans, after=tip)
        return Episode(task, spans, stop="length" if any(b.stop == "length" for b in branches) else "stop")


def path_text(episode: Episode, path: list[int]) -> str:
    """What the policy wrote along one path."""
    messages = [episode.spans[i].message for i in path if episode.spans[i].sampled]
    return "".join(str(message.get("content") or "") for message in messages if message)
