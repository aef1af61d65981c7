"""What a judge's voice is: something that can be asked in four ways, whatever stands behind it.

`text`      free text
`compare`   which of two replies is better, in both orders
`criteria`  which criteria a reply meets
`labels`    the probabilities of a fixed set of answers

Each gives a value or a `Failure` with its cause. What makes no sense to go on from is raised (`JudgeStopped`); a bug is
raised as what it is.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from guerdon.judges.guard import Guard
from guerdon.judges.outcome import Failure, Labels, Preference, Reply
from guerdon.judges.prompts import GUIDE, as_messages, criteria_prompt, pair_prompt
from guerdon.judges.read import read_choice, read_criteria
from guerdon.judges.usage import Usage
from guerdon.types import Message

if TYPE_CHECKING:
    from guerdon.rollouts.base import Context

T = TypeVar("T")
Prompt = str | Sequence[Message]


@dataclass(eq=False, kw_only=True)
class Voice(ABC):
    """Subclasses write `say` and `weigh`: one request each, with whatever repetition the way there needs.

    usage: counters, kept over the voice's life. guard: stops it when it fails too often. repairs: times that a voice
    is told that its answer was not of the asked form, and asked again.
    """

    usage: Usage = field(default_factory=Usage, repr=False)
    guard: Guard = field(default_factory=Guard)
    repairs: int = 1

    @property
    def needs_context(self) -> bool:
        """Whether it can only be asked within a run."""
        return False

    @abstractmethod
    async def say(self, messages: Sequence[Message], vote: int) -> Reply | Failure:
        """An answer in words. vote: different numbers are different draws, where the voice samples at all."""

    @abstractmethod
    async def weigh(self, messages: Sequence[Message], labels: Sequence[str]) -> Labels | Failure:
        """How probable each label is as the answer."""

    def check_labels(self, labels: Sequence[str]) -> None:
        """ValueError for labels that this voice could never tell apart."""
        if len(set(labels)) != len(labels) or len(labels) < 2 or not all(labels):
            raise ValueError(f"the labels are {list(labels)}; expected two or more different ones, none empty")

    async def close(self) -> None:
        """Give back what it holds (connections); it can still be asked, and then takes them anew."""
        return

    def within(self, context: Context | None) -> Voice:
        """This voice for one group's scoring, where it needs the run's samplers."""
        return self

    async def text(self, prompt: Prompt, vote: int = 0) -> Reply | Failure:
        return await self.ask(prompt, lambda reply: reply, vote)

    async def labels(self, prompt: Prompt, labels: Sequence[str]) -> Labels | Failure:
        """ValueError for labels that cannot be told apart (`check_labels`)."""
        self.check_labels(labels)
        return self.counted(await self.weigh(as_messages(prompt), labels))

    async def criteria(self, question: str, reply: str, criteria: Sequence[str]) -> list[bool | None] | Failure:
        """Whether the reply meets each criterion, in order; None where the judge is unsure or says nothing readable."""
        if not criteria:
            raise ValueError("there are no criteria; expected at least one")
        prompt = criteria_prompt(question, reply, criteria)
        return await self.ask(prompt, partial(read_criteria, count=len(criteria)))

    async def compare(self, question: str, a: str, b: str, votes: int = 1, guide: str = GUIDE) -> Preference | Failure:
        """How far `a` is preferred to `b`, each vote cast with `a` first and with `b` first: 2 x votes calls."""
        if votes < 1:
            raise ValueError(f"votes is {votes}; expected at least 1")
        orders = [pair for vote in range(votes) for pair in ((a, b, vote), (b, a, vote))]
        said = await together([self.choose(question, x, y, vote, guide) for x, y, vote in orders])
        return Preference.of(list(zip(said[::2], said[1::2], strict=True)))

    async def choose(self, question: str, first: str, second: str, vote: int, guide: str) -> float | Failure:
        """One choice in one order: 1 for the reply shown first, 0 for the other, 0.5 for a tie."""
        return await self.ask(pair_prompt(question, first, second, guide), read_choice, vote)

    async def ask(self, prompt: Prompt, read: Callable[[Reply], T | Failure], vote: int = 0) -> T | Failure:
        """What `read` finds in the voice's answer; where it finds none the voice is told so, `repairs` times."""
        messages = as_messages(prompt)
        for again in range(self.repairs + 1):
            said = await self.say(messages, vote)
            if isinstance(said, Failure):
                return self.counted(said)
            found = read(said)
            if not isinstance(found, Failure) or again == self.repairs:
                break
            self.usage.repairs += 1
            correction = "That answer is not of the form asked for. Answer again, in exactly that form."
            messages = [
                *messages,
                {"role": "assistant", "content": said.text},
                {"role": "user", "content": correction},
            ]
        return self.counted(found)

    def counted(self, outcome: T | Failure) -> T | Failure:
        """The outcome of a call, counted and watched. TooManyJudgeFailures when too many have failed."""
        failure = outcome if isinstance(outcome, Failure) else None
        self.usage.calls += 1
        if failure is not None:
            self.usage.failures[failure.cause] += 1
        self.guard.note(failure)
        return outcome


async def together(asked: Sequence[Awaitable[T]]) -> list[T]:
    """All results, in order. When one raises the others are cancelled and have ended before it is raised here."""
    tasks = [asyncio.ensure_future(one) for one in asked]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
