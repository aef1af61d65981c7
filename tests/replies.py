"""Episodes with a given reply, and rewards run on them without a rollout."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np

from guerdon.rewards.base import Reward
from guerdon.types import Episode, Score, Span, Task


def episode(task: Task, reply: str) -> Episode:
    sampled = Span(np.array([2]), np.array([-0.5]), parent=0, message={"role": "assistant", "content": reply})
    return Episode(task, [Span(np.array([1])), sampled])


def group(replies: Sequence[str], task_id: str = "t", prompt: Any = "q", **data: Any) -> list[Episode]:
    return [episode(Task(task_id, prompt, data), reply) for reply in replies]


def scores(reward: Reward, episodes: list[Episode]) -> list[Score]:
    return asyncio.run(reward(episodes, None))  # type: ignore[arg-type]
