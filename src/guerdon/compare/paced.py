"""A run that is looked at on the way and stops at its budget: the usual runner in the usual loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from guerdon.metrics import Stats
from guerdon.runner import Runner
from guerdon.types import Group

Look = Callable[["Paced"], Awaitable[None]]


def _never() -> bool:
    return False


@dataclass
class Paced(Runner):
    """marks: sampled tokens, rising, at which to look; the last is the budget, where it stops without a look.

    look: what to do where marks were passed. asked: whether somebody wants it to stop, after any step. passed: how many
    marks were behind it when it was last looked at.
    """

    marks: tuple[int, ...] = ()
    look: Look | None = None
    asked: Callable[[], bool] = _never
    passed: int = 0

    @classmethod
    def of(cls, runner: Runner, marks: tuple[int, ...], look: Look, asked: Callable[[], bool] = _never) -> Paced:
        """A run that `prepare` has put together, with a budget."""
        made = (runner.parts, runner.folder, runner.learner, runner.source, runner.log, runner.watch, runner.judges)
        return cls(*made, marks=marks, look=look, asked=asked)

    @property
    def spent(self) -> int:
        return self.budget.sampled_tokens

    @property
    def done(self) -> bool:
        """Whether the budget is used up."""
        return self.spent >= self.marks[-1]

    async def finish_step(self, groups: list[Group], stats: Stats) -> None:
        await super().finish_step(groups, stats)
        if not self.spent:
            raise ValueError("a step sampled no token, so that a budget of tokens would never be used up")
        await self.look_if_due()
        self.stopping = self.done or self.asked()

    async def look_if_due(self) -> None:
        """Look where marks were passed since the last time."""
        behind = sum(mark <= self.spent for mark in self.marks)
        if behind > self.passed and not self.done and self.look is not None:
            self.passed = behind
            await self.look(self)
