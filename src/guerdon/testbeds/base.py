"""What a testbed is: tasks over symbols, what a reply is truly worth, what is rewarded, and the policy that begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from guerdon.chat import Chat
from guerdon.rewards.base import PerEpisode, Reward
from guerdon.samplers.base import Sampling
from guerdon.testbeds.model import Model
from guerdon.testbeds.symbols import Symbols
from guerdon.types import EMPTY, Task

Trait = Callable[[Task, str], "float | None"]
"""(task, text of the reply) -> a number about it, or None where the question does not arise for this task."""


@dataclass(frozen=True, eq=False)
class Testbed:
    """Tasks with what there is to know about them.

    truth: what a reply is worth, which no policy is rewarded with where `rewards` says otherwise; right from 0.5 on.
    length: most symbols of a reply. policy: the policy that a seed begins with; equal seeds give equal weights.
    heldout: what is measured on; () for the training tasks themselves. best: the mean truth of the best policy there
    is. traits: what else is measured, each as its mean over replies. enumerable: replies are few enough to be all
    listed, so that figures are exact.
    """

    name: str
    symbols: Symbols
    tasks: tuple[Task, ...]
    truth: Callable[[Task, str], float]
    length: int
    policy: Callable[[int], Model]
    heldout: tuple[Task, ...] = ()
    rewards: tuple[Reward, ...] = ()
    best: float = 1.0
    traits: Mapping[str, Trait] = EMPTY
    enumerable: bool = False

    @property
    def measured(self) -> tuple[Task, ...]:
        """The tasks that figures are about."""
        return self.heldout or self.tasks

    @property
    def scoring(self) -> tuple[Reward, ...]:
        """What is learned from: `rewards`, or the truth."""
        return self.rewards or (self.reward,)

    @cached_property
    def reward(self) -> Reward:
        """The truth as a reward."""
        return PerEpisode("truth", lambda episode: self.truth(episode.task, episode.reply))

    @property
    def chat(self) -> Chat:
        return Chat(self.symbols, template=False)

    @property
    def how(self) -> Sampling:
        """Sampling at temperature 1."""
        return Sampling(max_tokens=self.length, stop_tokens=self.symbols.stop_tokens)
