"""Trying rewards out before a run: on two made-up replies, before any model is loaded."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from guerdon.rewards.scoring import dry_run
from guerdon.tasks.base import each
from guerdon.types import Episode, Group, Span, Task

if TYPE_CHECKING:
    from guerdon.rewards.base import Reward
    from guerdon.tasks.base import TaskSet


TASKS_TESTED = 2000
"""Tasks of a finite set whose answers are tested before a run."""


class Ungradable(ValueError):
    """No answer of the tasks can be graded by the reward."""


def rehearse(rewards: Sequence[Reward], tasks: TaskSet | None) -> None:
    """Score two replies to the first training task, its answer and nothing; and test the answers of finite task sets.

    RewardFault when a reward breaks its contract, Ungradable when it can grade no answer; a warning with number and
    example for some. Left out are rewards that say `needs_context`: they ask a model, or read the conversation as it
    was tokenised.
    """
    plain = [reward for reward in rewards if not getattr(reward, "needs_context", False)]
    if plain and tasks is not None:
        asyncio.run(_all(plain, tasks))


async def _all(rewards: Sequence[Reward], tasks: TaskSet) -> None:
    for reward in rewards:
        if hasattr(reward, "fits") and tasks.train.size is not None:
            await _test_answers(reward, [*each(tasks.heldout, TASKS_TESTED), *each(tasks.train, TASKS_TESTED)])
        await dry_run(reward, sample_group(tasks.train.task(0)))


async def _test_answers(reward: Any, tasks: Sequence[Task]) -> None:
    """reward: one whose `fits(task)` says '' or why it cannot grade the task."""
    whys = await asyncio.gather(*(reward.fits(task) for task in tasks))
    bad = [(task.id, why) for task, why in zip(tasks, whys, strict=True) if why]
    if not bad:
        return
    told = (
        f"{len(bad)} of {len(tasks)} answers cannot be graded by the reward {reward.name!r}, such as that of task "
        f"{bad[0][0]}: {bad[0][1]}"
    )
    if len(bad) == len(tasks):
        raise Ungradable(f"{told}. Look at the data with: guerdon data check")
    warnings.warn(f"{told}. Nothing is learned from such tasks; find them all with: guerdon data check", stacklevel=2)


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
