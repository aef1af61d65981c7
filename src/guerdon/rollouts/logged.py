"""Samples of the policy beside replies that are already there: a labelled pair and fresh replies to the same prompt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from guerdon.data.episodes import dialogue, written
from guerdon.marks import mark
from guerdon.rollouts.base import Context
from guerdon.rollouts.single import single_turn
from guerdon.types import Episode, Group, Task

LABELS = ("chosen", "rejected")
"""Keys of a task's data that hold the logged replies, text or messages; also what `Episode.notes["logged"]` says."""


async def beside_logged(task: Task, context: Context) -> Group:
    """The chosen and the rejected reply of `task.data`, then `context.n` samples of the policy.

    The logged ones carry the stream `logged` = 1 and the temperature of sampling, at which all log-probabilities are
    taken. KeyError names what the task lacks.
    """
    logged = [_logged(task, label, context) for label in LABELS]
    return [*logged, *await single_turn(task, context)]


def _logged(task: Task, label: str, context: Context) -> Episode:
    reply: Any = task.data.get(label)
    if reply is None:
        raise KeyError(f"task {task.id} has no {label!r} reply in its data; it has {sorted(task.data)}")
    episode = written(task.id, dialogue(task.prompt, reply, context.chat), context.chat)
    return mark(replace(episode, task=task, notes={"logged": label}), logged=1.0, temperature=context.how.temperature)
