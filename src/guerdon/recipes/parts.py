"""What recipes make of words: task sets with their reward."""

from __future__ import annotations

from dataclasses import replace

from guerdon.run import Options
from guerdon.tasks.base import TaskSet


def task_set(options: Options) -> TaskSet:
    """The tasks that the options name, scored by their own reward or by the one that was named."""
    return scored_tasks(options.tasks, options.reward)


def scored_tasks(tasks: str, reward: str | None) -> TaskSet:
    """A task set by its spec, scored by its own reward unless another is named."""
    from guerdon.rewards.load import load_reward
    from guerdon.tasks.spec import load_tasks

    found = load_tasks(tasks)
    return found if reward is None else replace(found, reward=load_reward(reward))
