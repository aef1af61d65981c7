"""Who is evaluated: a saved reward model, or any reward by name, as functions from texts to scores."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.data.episodes import dialogue
from guerdon.evaluation.reward_models.base import Candidates, CountTokens, ScoreLists, ScoreSteps, Solution, last_text
from guerdon.judges.base import together
from guerdon.rewards.rehearsal import made_up
from guerdon.rewards.scoring import Fault, score_group
from guerdon.rollouts.base import derive
from guerdon.types import Task

if TYPE_CHECKING:
    from guerdon.rewards.base import Reward
    from guerdon.rewards.scorer import Scorer

CHUNK = 64
"""Conversations that a model scores at once."""
AT_ONCE = 8
"""Groups that a reward is asked about at once."""
REDUNDANCY = "redundancy"
"""The head that says how redundant a step is, of a model that has one."""


@dataclass(frozen=True)
class Rater:
    """lists: scores of candidates. steps: probabilities that steps are right; None of whoever scores whole replies.

    redundancy: probabilities that steps are redundant. tokens: how many each reply has; None of a reward, which reads
    text. faults: what got no score and why, filled while it is asked.
    """

    name: str
    lists: ScoreLists
    steps: ScoreSteps | None = None
    redundancy: ScoreSteps | None = None
    tokens: CountTokens | None = None
    faults: list[Fault] = field(default_factory=list)


def load_rater(name: str, head: str | None = None, device: str | None = None, dtype: str = "float32") -> Rater:
    """A reward model by its folder, its run's folder or its hub name; else a reward, such as `numeric` or `gold:sums`.

    head: of a model with several; by default its first. ValueError when it is neither, or has no such head.
    """
    if is_model(name):
        from guerdon.rewards.scorer import load_scorer

        return model_rater(load_scorer(name, device, dtype), head)
    if head is not None:
        raise ValueError(f"{name} is a reward, which has no heads; leave out the head {head!r}, or name a model")
    from guerdon.rewards.load import load_reward

    return reward_rater(load_reward(name))


def is_model(name: str) -> bool:
    """Whether it names a model rather than a reward: a folder, or a hub name of two parts."""
    if Path(name).expanduser().is_dir():
        return True
    return "/" in name and not any(mark in name for mark in (":", "?", ".py"))


def model_rater(scorer: Scorer, head: str | None = None) -> Rater:
    """A saved reward model. Conversations are written by its own chat template; one it cannot read gets no score."""
    head = scorer.heads[0] if head is None else head
    scorer.check(head)
    faults: list[Fault] = []
    asked = _Model(scorer, faults)
    redundancy = (lambda items: asked.steps(items, REDUNDANCY)) if REDUNDANCY in scorer.heads else None
    return Rater(
        scorer.model.name,
        lambda items: asked.lists(items, head),
        lambda items: asked.steps(items, head),
        redundancy,
        asked.tokens,
        faults,
    )


@dataclass(frozen=True)
class _Model:
    scorer: Scorer
    faults: list[Fault]

    def lists(self, items: Sequence[Candidates], head: str) -> list[list[float]]:
        chat = self.scorer.chat
        said = [dialogue(item.prompt, reply, chat) for item in items for reply in item.replies]
        values: list[float] = []
        for begin in range(0, len(said), CHUNK):
            values += self._scored(said[begin : begin + CHUNK], head, begin)
        left = iter(values)
        return [[next(left) for _ in item.replies] for item in items]

    def steps(self, items: Sequence[Solution], head: str) -> list[list[float]]:
        from guerdon.rewards.scorer import TooLong

        found = []
        for number, item in enumerate(items):
            try:
                found += self.scorer.score_steps(item.prompt, [item.steps], head)
            except TooLong as error:
                self._fault(number, error)
                found.append([math.nan] * len(item.steps))
        return found

    def tokens(self, item: Candidates) -> list[int]:
        """Tokens of each reply's text."""
        return [len(self.scorer.chat.encode(last_text(reply))) for reply in item.replies]

    def _scored(self, said: list[Any], head: str, first: int) -> list[float]:
        from guerdon.rewards.scorer import TooLong

        try:
            return self.scorer.score(said, head)
        except TooLong as error:
            if len(said) > 1:  # the others may be short enough
                return [value for i, one in enumerate(said) for value in self._scored([one], head, first + i)]
            self._fault(first, error)
            return [math.nan]

    def _fault(self, number: int, error: Exception) -> None:
        self.faults.append(Fault(str(number), f"model {self.scorer.model.name}", str(error)))


def reward_rater(reward: Reward, seed: int = 0) -> Rater:
    """Any reward. The replies of one prompt are one group, in an order drawn from seed and prompt, not best first.

    ValueError for a reward that can be asked within a run only.
    """
    if getattr(reward, "needs_context", False):
        raise ValueError(f"the reward {reward.name!r} can be asked within a run only; name one that reads texts alone")
    faults: list[Fault] = []

    def lists(items: Sequence[Candidates]) -> list[list[float]]:
        return asyncio.run(_asked(reward, items, seed, faults))

    return Rater(reward.name, lists, faults=faults)


async def _asked(reward: Reward, items: Sequence[Candidates], seed: int, faults: list[Fault]) -> list[list[float]]:
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, item: Candidates) -> list[float]:
        order = list(range(len(item.replies)))
        random.Random(derive("order of replies", seed, str(item.prompt), number)).shuffle(order)
        task = Task(f"row-{number}", _prompt(item), item.data)
        group = [made_up(task, last_text(item.replies[place])) for place in order]
        async with slots:
            faults.extend(await score_group(group, [reward], None))  # type: ignore[arg-type]
        values = [math.nan] * len(order)
        for place, episode in zip(order, group, strict=True):
            score = episode.scores[reward.name]
            values[place] = score.total() if score.applies else math.nan
        return values

    return await together([one(number, item) for number, item in enumerate(items)])


def _prompt(item: Candidates) -> Any:
    """What the replies answer; without a prompt, what stands before the last message of a whole conversation."""
    if item.prompt or not isinstance(item.replies[0], list):
        return item.prompt
    return item.replies[0][:-1]
