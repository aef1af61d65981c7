"""What a reward is: a named async function from a group to one score per episode."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from guerdon.types import Episode, Group, Score

if TYPE_CHECKING:
    from guerdon.rollouts.base import Context


@runtime_checkable
class Reward(Protocol):
    """Scores a whole group at once, in order: exactly one `Score` per episode.

    name: key under which the scores are kept. weight: factor with which they enter the return (0: watched only).
    """

    @property
    def name(self) -> str: ...
    @property
    def weight(self) -> float: ...

    async def __call__(self, group: Group, context: Context) -> list[Score]: ...


EpisodeReward = Callable[[Episode], "Score | float | None | Awaitable[Score | float | None]"]


@dataclass(frozen=True)
class PerEpisode:
    """Lifts a function of one episode (sync or async; Score, float or None) to a reward."""

    name: str
    function: EpisodeReward
    weight: float = 1.0

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        return [as_score(await _value(self.function(episode))) for episode in group]


def as_score(value: Score | float | None) -> Score:
    return value if isinstance(value, Score) else Score(None if value is None else float(value))


async def _value(result: object) -> Score | float | None:
    return await result if inspect.isawaitable(result) else result  # type: ignore[return-value]
