"""Format checks: tags in their order, patterns; worth a small weight beside what makes a reply right.

They read what the policy wrote from its tokens, special ones included, together with what the prompt opened before it:
where a chat template starts the reply with <think>, the reply has only the closing tag, and that is well formed.
"""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guerdon.pool.outcome import Limits
from guerdon.pool.pool import shared
from guerdon.rewards.worth import WORTH, Worth
from guerdon.rewards.written import Written, marks, written_in
from guerdon.types import Episode, Score, Verdict

if TYPE_CHECKING:
    from guerdon.rollouts.base import Context
    from guerdon.types import Group

STAGE = "format"


class Form(ABC):
    """A reward whose verdict is about the form of the last reply: 'right', 'wrong', or 'no_answer' where it is empty.

    The reason of a reply that was cut off at its token limit says so.
    """

    name: str
    weight: float
    worth: Worth
    tags: tuple[str, ...] = ()

    @abstractmethod
    async def check(self, written: Written) -> Verdict: ...

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        verdicts = await asyncio.gather(*(self._verdict(episode, context) for episode in group))
        return [self.worth.score(verdict) for verdict in verdicts]

    async def _verdict(self, episode: Episode, context: Context | None) -> Verdict:
        written = written_in(episode, context.chat if context else None, self.tags)
        verdict = await self.check(written) if written.said.strip() else Verdict("no_answer", "the reply is empty")
        cut = "; the reply was cut off at its token limit" if episode.stop == "length" else ""
        return Verdict(verdict.status, verdict.reason + cut, verdict.extracted, STAGE)


@dataclass(frozen=True)
class TagFormat(Form):
    """'right' when the reply is one block for each of the tags, in this order, with nothing but white space around.

    <think>...</think> <answer>...</answer>, each tag exactly once and no block empty, but one that the prompt itself
    closed. What the prompt opened counts as written.
    """

    tags: tuple[str, ...] = ("think", "answer")
    name: str = "tag_format"
    weight: float = 1.0
    worth: Worth = WORTH

    def __post_init__(self) -> None:
        if (
            not self.tags
            or len(set(self.tags)) < len(self.tags)
            or not all(re.fullmatch(r"[\w-]+", t) for t in self.tags)
        ):
            raise ValueError(f"tags are {self.tags!r}; expected one or more different names such as 'think'")

    async def check(self, written: Written) -> Verdict:
        return _judged(written, self.tags, answer_follows=False)


@dataclass(frozen=True)
class ThinkFormat(Form):
    """'right' when the reply is one <think>...</think> that is not empty, and an answer after it.

    Where the prompt ends in <think>, only the closing tag is the reply's to write; where it ends in <think></think>
    (reasoning switched off), only the answer is.
    """

    name: str = "think_format"
    weight: float = 1.0
    worth: Worth = WORTH
    tags = ("think",)

    async def check(self, written: Written) -> Verdict:
        return _judged(written, self.tags, answer_follows=True)


@dataclass(frozen=True)
class MatchesPattern(Form):
    """'right' when Python's `re.search` finds the pattern in what the policy said; ^ and $ hold it to the whole.

    (?s), (?i) at the start set flags. A reply of more than `max_chars` characters is not searched: 'cannot_tell'. The
    search runs in a worker, since a pattern whose repetitions are nested, such as (a+)+b, can take for ever on a few
    characters: after `timeout` seconds the verdict is 'timed_out'.
    """

    pattern: str
    name: str = "pattern"
    weight: float = 1.0
    worth: Worth = WORTH
    max_chars: int = 20_000
    timeout: float = 1.0

    def __post_init__(self) -> None:
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise ValueError(f"the pattern {self.pattern!r} is no regular expression: {error}") from error

    async def check(self, written: Written) -> Verdict:
        if len(written.said) > self.max_chars:
            return Verdict("cannot_tell", f"{len(written.said)} characters, more than the {self.max_chars} searched")
        limits = Limits(seconds=self.timeout)
        outcome = await shared().run(f"{__name__}:search", self.pattern, written.said, limits=limits)
        if not outcome.ok:
            return Verdict("timed_out" if outcome.status == "timed_out" else "failed", outcome.reason)
        if outcome.value is None:
            return Verdict("wrong", f"nothing matches {self.pattern!r}")
        return Verdict("right", "the pattern is there", outcome.value)


def search(pattern: str, text: str) -> str | None:
    """What a pattern finds first in a text; called in a worker."""
    found = re.search(pattern, text)
    return None if found is None else found.group()


def _judged(written: Written, tags: Sequence[str], answer_follows: bool) -> Verdict:
    wanted = [mark for tag in tags for mark in marks(tag)]
    mark = re.compile("|".join(map(re.escape, wanted)))
    text = written.given + written.said
    found, parts = mark.findall(text), mark.split(text)
    opened = f" (the prompt wrote {' '.join(mark.findall(written.given))})" if written.given else ""
    if found != wanted:
        shown = " ".join(found[:8]) + (" ..." if len(found) > 8 else "")
        return Verdict("wrong", f"its tags are {shown or 'none'}{opened}, expected {' '.join(wanted)}")
    given = [f"</{tag}>" in written.given for tag in tags]
    empty = [tag for tag, inside, ok in zip(tags, parts[1::2], given, strict=True) if not (inside.strip() or ok)]
    if empty:
        return Verdict("wrong", f"<{empty[0]}> is empty")
    outside = parts[0:-1:2] if answer_follows else parts[0::2]
    if any(part.strip() for part in outside):
        return Verdict("wrong", "there is text outside the tags" if not answer_follows else f"text before {wanted[0]}")
    if answer_follows and not parts[-1].strip():
        return Verdict("wrong", f"no answer after {wanted[-1]}")
    return Verdict("right", "well formed" + opened)
