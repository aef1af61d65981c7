"""Trying rewards out before a run: on two made-up replies, before any model is loaded."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from guerdon.rewards.scoring import dry_run
from guerdon.types import Episode, Group, Span, Task

if TYPE_CHECKING:
    from guerdon.rewards.base import Reward
    from guerdon.tasks.base import TaskSet


def rehearse(rewards: Sequence[Reward], tasks: TaskSet | None) -> None:
    """Score two replies to the first training task: its answer, and nothing. RewardFault when a reward cannot.

    Left out are rewards that say `needs_context`: they ask a model, or read the conversation as it was tokenised.
    """
    plain = [reward for reward in rewards if not getattr(reward, "needs_context", False)]
    if plain and tasks is not None:
        asyncio.run(_all(plain, sample_group(tasks.train.task(0))))


async def _all(rewards: Sequence[Reward], group: Group) -> None:
    for reward in rewards:
        await dry_run(reward, group)


def sample_group(task: Task) -> Group:
    """Two made-up episodes of a task: one replies with the task's answer (or 'an answer'), one with nothing."""
    answer = task.data.get("answer")
    return [made_up(task, str(answer) if isinstance(answer, str | int | float) else "an answer"), made_up(task, "")]


def made_up(task: Task, reply: str) -> Episode:
    """An episode in which somebody replied this, token by token unknown."""
    token, logprob = np.zeros(1, np.int64), np.zeros(1, np.float32)
    prompt = Span(token)
    said = Span(token, logprob, parent=0, message={"role": "assistant", "content": reply})
    return Episode(task, [prompt, said])
