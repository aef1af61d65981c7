"""What a verifier is: a reward that finds a verdict for each episode, and leaves to `Worth` what that is worth."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guerdon.rewards.worth import WORTH, Worth
from guerdon.types import Score, Verdict

if TYPE_CHECKING:
    from guerdon.rollouts.base import Context
    from guerdon.types import Episode, Group


@dataclass(frozen=True)
class Verifier(ABC):
    """A reward whose every score is a verdict. Subclasses give `name` a default and write `verify`.

    `verify` raises only for what is wrong with the task or the program (RewardFault: no answer in its data); whatever a
    completion does is a verdict. It is awaited for all episodes of a group at once.
    """

    name: str
    weight: float = 1.0
    worth: Worth = WORTH

    @abstractmethod
    async def verify(self, episode: Episode) -> Verdict: ...

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        verdicts = await asyncio.gather(*(self.verify(episode) for episode in group))
        return [self.worth.score(verdict) for verdict in verdicts]
