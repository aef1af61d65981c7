"""What a set of tasks is: training tasks, held-out tasks that never change, and the set's own scorer."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from guerdon.rollouts.base import derive
from guerdon.types import Task

if TYPE_CHECKING:
    from guerdon.rewards.base import Reward

HELDOUT_SHARE = 10
"""One in this many problems is held out, chosen by a hash of the prompt."""


@runtime_checkable
class Tasks(Protocol):
    """An indexable, deterministic sequence of tasks: equal arguments give equal tasks on every machine.

    size: how many there are, None when endless. A finite sequence ignores the seed; an endless one may draw
    different problems for different seeds. Two different problems never share a `Task.id`.
    """

    @property
    def size(self) -> int | None: ...

    def task(self, i: int, seed: int = 0) -> Task: ...


@dataclass(frozen=True)
class Listed:
    """A finite sequence held in memory. ValueError when an id occurs twice."""

    tasks: Sequence[Task] = field(repr=False)

    def __post_init__(self) -> None:
        doubles = [name for name, count in Counter(task.id for task in self.tasks).items() if count > 1]
        if doubles:
            raise ValueError(f"{len(doubles)} task ids occur more than once, the first is {doubles[0]!r}")

    @property
    def size(self) -> int:
        return len(self.tasks)

    def task(self, i: int, seed: int = 0) -> Task:
        return self.tasks[within(i, self.size)]


@dataclass(frozen=True)
class Endless:
    """Tasks made on the spot: `make(i, seed)` must depend on nothing else."""

    make: Callable[[int, int], Task]

    @property
    def size(self) -> None:
        return None

    def task(self, i: int, seed: int = 0) -> Task:
        return self.make(within(i, None), seed)


@dataclass(frozen=True)
class Shuffled:
    """The stream of draws of one run; its whole state is the index of the next draw.

    Draw i of a finite sequence of n tasks is entry i mod n of a permutation of its own for epoch i // n, so that every
    epoch holds every task once. Draw i of an endless one is its task (i, seed).
    """

    tasks: Tasks
    seed: int

    def __post_init__(self) -> None:
        if self.tasks.size == 0:
            raise ValueError("there are no tasks to draw from")

    def draw(self, i: int) -> Task:
        n = self.tasks.size
        i = within(i, None)
        return self.tasks.task(i if n is None else _permutation(n, self.seed, i // n)[i % n], self.seed)


@dataclass(frozen=True)
class TaskSet:
    """A named set of problems. `heldout` is finite and the same for every run; no held-out problem is in `train`."""

    name: str
    train: Tasks
    heldout: Tasks
    reward: Reward
    describe: str = ""


def each(tasks: Tasks, limit: int | None = None) -> Iterator[Task]:
    """The tasks in order, at most `limit` of them. ValueError for an endless sequence without a limit."""
    if tasks.size is None and limit is None:
        raise ValueError("an endless sequence of tasks needs a limit")
    counts = [n for n in (tasks.size, limit) if n is not None]
    return (tasks.task(i) for i in range(min(counts)))


def held_out(prompt: object) -> bool:
    """Whether a problem belongs to the held-out tenth: a stable function of its prompt alone."""
    return derive("held out", str(prompt)) % HELDOUT_SHARE == 0


def within(i: int, size: int | None) -> int:
    """i when 0 <= i < size; IndexError otherwise (no negative indices: a stream has no end to count from)."""
    if i < 0 or (size is not None and i >= size):
        raise IndexError(f"task index {i}; expected 0 to {'any' if size is None else size - 1}")
    return i


@lru_cache(maxsize=4)
def _permutation(n: int, seed: int, epoch: int) -> tuple[int, ...]:
    # Only random() is promised to give the same numbers in every Python version; shuffle() is not.
    numbers = random.Random(derive("shuffle", seed, epoch))
    order = list(range(n))
    for last in range(n - 1, 0, -1):
        other = int(numbers.random() * (last + 1))
        order[last], order[other] = order[other], order[last]
    return tuple(order)
