"""The loop. There is one, for every method, synchronous or lagged, on-policy or from a data set."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import torch

from guerdon.engines.base import NotFinite
from guerdon.learner import GapTooLarge
from guerdon.metrics import Stats, merge, over

if TYPE_CHECKING:
    from guerdon.learner import Learner
    from guerdon.rewards.scoring import Fault
    from guerdon.sources import Source
    from guerdon.types import Group


class Steps(Protocol):
    """Whom the loop reports to, and who says when it ends: a `Runner` with its folder, or somebody with none."""

    step: int
    stopping: bool

    @property
    def steps(self) -> int: ...

    def report_faults(self, faults: Sequence[Fault]) -> None: ...

    def save_evidence(self, groups: list[Group]) -> str:
        """Keep what a step was about that could not be made; where it lies, as a sentence."""
        ...

    async def finish_step(self, groups: list[Group], stats: Stats) -> None: ...


async def train(source: Source, learner: Learner, run: Steps) -> None:
    """Take, update, publish, report; until the run's steps are done or somebody asked it to stop."""
    async with source:
        while run.step < run.steps and not run.stopping:
            clock = Clock()
            data = await source.take(learner.version)
            clock.lap("sample")
            run.report_faults(data.faults)
            try:
                stats = await learner.update(data.groups)
            except (NotFinite, GapTooLarge) as error:
                raise type(error)(f"step {run.step + 1}: {error} {run.save_evidence(data.groups)}") from error
            clock.lap("learn")
            await source.publish(learner)
            clock.laps["sample"] = max(0.0, clock.laps["sample"] - _seconds(data.stats, "score"))
            await run.finish_step(data.groups, merge([data.stats, stats, clock.stats()]))


def _seconds(stats: Stats, name: str) -> float:
    return stats[f"seconds/{name}"].value if f"seconds/{name}" in stats else 0.0


class Clock:
    """Seconds of the parts of a step, as statistics."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._begin = self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = now - self._last
        self._last = now

    def stats(self) -> Stats:
        total = time.perf_counter() - self._begin
        return {f"seconds/{name}": over(torch.tensor([s])) for name, s in {**self.laps, "total": total}.items()}
