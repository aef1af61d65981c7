"""A Python function as a judge: for tests, for a model that is served in a way of its own, for rules of a user's."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.judges.base import Voice
from guerdon.judges.outcome import Failure, Labels, Reply
from guerdon.judges.read import as_label
from guerdon.rewards.bounded import bounded
from guerdon.types import Message

Said = str | Reply | Failure | None
Answers = Callable[[str], Said | Awaitable[Said]]
"""The judge's whole prompt -> its answer; None or '' is a failure, and a failure may be given as such."""
Weighs = Callable[[str, Sequence[str]], Mapping[str, float] | Failure | Awaitable[Mapping[str, float] | Failure]]
"""(prompt, labels) -> unnormalised probabilities, >= 0, by label; a label that is missing has none."""


@dataclass(eq=False)
class FunctionVoice(Voice):
    """Asks `answers` for text and `weighs` for labels (None: the label that `answers` gives has all the probability).

    The functions may be async; sync ones run in a thread. timeout: seconds per call, after which it is a failure. What
    they raise is raised: it is a bug, not a judgement.
    """

    answers: Answers
    weighs: Weighs | None = None
    timeout: float = 60.0

    async def say(self, messages: Sequence[Message], vote: int) -> Reply | Failure:
        said = await self._call(self.answers, _shown(messages))
        if isinstance(said, Failure):
            return said
        if said is not None and not isinstance(said, str | Reply):
            raise TypeError(f"the judge function returned {type(said).__name__}; expected text, a Reply or a Failure")
        reply = Reply(said or "") if isinstance(said, str | None) else said
        return reply if reply.text.strip() else Failure("empty", "the judge function gave no text")

    async def weigh(self, messages: Sequence[Message], labels: Sequence[str]) -> Labels | Failure:
        if self.weighs is None:
            said = await self.say(messages, 0)
            found = said if isinstance(said, Failure) else as_label(said, labels)
            return (
                found if isinstance(found, Failure) else Labels.of({label: float(label == found) for label in labels})
            )
        weights = await self._call(self.weighs, _shown(messages), labels)
        if isinstance(weights, Failure):
            return weights
        return Labels.of({label: float(weights.get(label, 0.0)) for label in labels})

    async def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        import asyncio

        self.usage.requests += 1
        try:
            if inspect.iscoroutinefunction(function):
                return await asyncio.wait_for(function(*args), self.timeout)
            result = await bounded(lambda: function(*args), self.timeout)
            return await asyncio.wait_for(result, self.timeout) if inspect.isawaitable(result) else result
        except TimeoutError:
            return Failure("timeout", f"the judge function gave no answer within {self.timeout:g} s")


def _shown(messages: Sequence[Message]) -> str:
    return "\n\n".join(str(message["content"]) for message in messages)
