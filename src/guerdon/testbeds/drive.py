"""Driving the real loop without a run folder: what the loop reports to, when nothing is written down."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guerdon.loop import train
from guerdon.metrics import Stats
from guerdon.rewards.scoring import Fault
from guerdon.types import Group

if TYPE_CHECKING:
    from guerdon.learner import Learner
    from guerdon.sources import Source


@dataclass
class Drive:
    """Goes on for `steps` updates, or until `stopping`. A fault, which no testbed has by itself, ends it."""

    steps: int
    step: int = 0
    stopping: bool = False

    async def train(self, source: Source, learner: Learner) -> None:
        await train(source, learner, self)

    def report_faults(self, faults: Sequence[Fault]) -> None:
        if faults:
            raise RuntimeError(str(faults[0]))

    def save_evidence(self, groups: list[Group]) -> str:
        return "Nothing is kept of an experiment that breaks."

    async def finish_step(self, groups: list[Group], stats: Stats) -> None:
        self.step += 1


def drive(source: Source, learner: Learner, steps: int) -> None:
    """Make `steps` updates."""
    asyncio.run(Drive(steps).train(source, learner))
