"""What recipes make of words: task sets and the rewards of a run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from guerdon.run import Options
from guerdon.tasks.base import TaskSet

if TYPE_CHECKING:
    from guerdon.rewards.base import Reward


def task_set(options: Options) -> tuple[TaskSet, tuple[Reward, ...]]:
    """The tasks that the options name, and the rewards of the run: those that were named, or the tasks' own.

    The first reward is also the task set's: it says what is right.
    """
    from guerdon.rewards.load import Grading, load_rewards
    from guerdon.tasks.spec import load_tasks

    tasks = load_tasks(options.tasks)
    grading = Grading(options.reward_timeout, options.worth, options.unsafe_local_code)
    rewards = load_rewards(options.reward, grading) if options.reward else (grading.apply(tasks.reward),)
    return replace(tasks, reward=rewards[0]), rewards
