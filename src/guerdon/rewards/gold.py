"""The true quality of replies to made-up prompts, as rewards: what a learned reward only stands in for.

They read the prompt, so any reply can be asked about again: a policy is trained against a reward model of the pairs
that `guerdon data make` writes, and watched by gold (`...,0*gold:sums`: weight 0).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guerdon.rewards.fault import RewardFault
from guerdon.synthetic import requests, sums
from guerdon.types import Episode, Score

if TYPE_CHECKING:
    from guerdon.rollouts.base import Context
    from guerdon.types import Group


class Gold(ABC):
    """A reward that is a function of the prompt's text and the last reply's. RewardFault on another kind of prompt."""

    name: str
    weight: float

    @abstractmethod
    def value(self, prompt: str, reply: str) -> float:
        """ValueError when the prompt is of another kind."""

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        return [self._score(episode) for episode in group]

    def _score(self, episode: Episode) -> Score:
        try:
            return Score(self.value(_asked(episode), episode.reply))
        except ValueError as error:
            found, _, expected = str(error).partition("; expected ")
            raise RewardFault(self.name, episode.task.id, found, expected) from error


@dataclass(frozen=True)
class GoldRequests(Gold):
    """True quality of a reply to a request in English, -2 to 3.5 (`guerdon data make requests`).

    It counts the right answer, courtesy, naming what was asked about, and sentences said before.
    """

    name: str = "gold:requests"
    weight: float = 1.0

    def value(self, prompt: str, reply: str) -> float:
        return requests.gold(prompt, reply)


@dataclass(frozen=True)
class GoldSums(Gold):
    """True quality of a reply to a sum such as '12+7=', -2 to 2 (`guerdon data make sums`, tasks `arithmetic`).

    It counts the right sum, the share of right characters, and characters too many.
    """

    name: str = "gold:sums"
    weight: float = 1.0

    def value(self, prompt: str, reply: str) -> float:
        return sums.gold(prompt, reply)


def _asked(episode: Episode) -> str:
    """The prompt's text; of messages, the last that the user wrote."""
    prompt = episode.task.prompt
    if isinstance(prompt, str):
        return prompt
    said = [one.get("content") for one in prompt if isinstance(one, Mapping) and one.get("role") == "user"]
    return str(said[-1]) if said else ""
