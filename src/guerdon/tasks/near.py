"""Problems with several right answers, all known: what keeps a policy from forgetting all but one can be counted."""

from __future__ import annotations

from dataclasses import dataclass, replace

from guerdon.rewards.verify.number import NumericMatch
from guerdon.tasks.base import Tasks, TaskSet
from guerdon.tasks.builtin import arithmetic
from guerdon.types import Task


def near(within: int = 3, level: int = 1) -> TaskSet:
    """Sums such as '12+7=', answered by any whole number within 3 of the sum: 7 right answers to each.

    The prompts are those of `arithmetic` of this level, held out alike. within: how far from the sum an answer may be,
    1 to 50: each task has 2 within + 1 right answers. `Task.data["answer"]` lists them, the sum first.
    """
    if within not in range(1, 51):
        raise ValueError(f"near: within is {within}; expected a whole number, 1 to 50")
    exact = arithmetic(level)
    return TaskSet(
        "near",
        Around(exact.train, within),
        Around(exact.heldout, within),
        NumericMatch(),
        f"Sums answered to within {within}, {2 * within + 1} right answers each. {exact.describe}",
    )


@dataclass(frozen=True)
class Around:
    """Sums to which every number within this distance is an answer."""

    tasks: Tasks
    within: int

    @property
    def size(self) -> int | None:
        return self.tasks.size

    def task(self, i: int, seed: int = 0) -> Task:
        task = self.tasks.task(i, seed)
        exact = int(task.data["answer"])
        apart = sorted(range(-self.within, self.within + 1), key=abs)
        data = {**task.data, "answer": [str(exact + n) for n in apart]}
        return replace(task, id=f"near/{task.id.partition('/')[2]}", data=data)
