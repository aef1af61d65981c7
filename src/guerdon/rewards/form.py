"""Format checks: tags in their order, patterns; worth a small weight beside what makes a reply right.

They read what the policy wrote from its tokens, special ones included, together with what the prompt opened before it:
where a chat template starts the reply with <think>, the reply has only the closing tag, and that is well formed.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from guerdon.rewards.worth import WORTH, Worth
from guerdon.types import Episode, IntArray, Score, Span, Verdict

if TYPE_CHECKING:
    from guerdon.chat import Chat
    from guerdon.rollouts.base import Context
    from guerdon.types import Group

STAGE = "format"


@dataclass(frozen=True)
class Written:
    """The last reply of an episode. given: its start, written by the prompt or a forced prefix; said: the policy's."""

    given: str
    said: str


class Form(ABC):
    """A reward whose verdict is about the form of the last reply: 'right', 'wrong', or 'no_answer' where it is empty.

    The reason of a reply that was cut off at its token limit says so.
    """

    name: str
    weight: float
    worth: Worth
    tags: tuple[str, ...] = ()

    @abstractmethod
    def check(self, written: Written) -> Verdict: ...

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        return [self.worth.score(self._verdict(episode, context)) for episode in group]

    def _verdict(self, episode: Episode, context: Context | None) -> Verdict:
        written = written_in(episode, context.chat if context else None, self.tags)
        verdict = self.check(written) if written.said.strip() else Verdict("no_answer", "the reply is empty")
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

    def check(self, written: Written) -> Verdict:
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

    def check(self, written: Written) -> Verdict:
        return _judged(written, self.tags, answer_follows=True)


@dataclass(frozen=True)
class MatchesPattern(Form):
    """'right' when Python's `re.search` finds the pattern in what the policy said; ^ and $ hold it to the whole.

    (?s), (?i) at the start set flags. A reply of more than `max_chars` characters is not searched: 'cannot_tell'. The
    cap does not make a pattern harmless whose repetitions are nested, such as (a+)+b: it can hang on few characters.
    """

    pattern: str
    name: str = "pattern"
    weight: float = 1.0
    worth: Worth = WORTH
    max_chars: int = 20_000

    def __post_init__(self) -> None:
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise ValueError(f"the pattern {self.pattern!r} is no regular expression: {error}") from error

    def check(self, written: Written) -> Verdict:
        if len(written.said) > self.max_chars:
            return Verdict("cannot_tell", f"{len(written.said)} characters, more than the {self.max_chars} searched")
        found = re.search(self.pattern, written.said)
        if found is None:
            return Verdict("wrong", f"nothing matches {self.pattern!r}")
        return Verdict("right", "the pattern is there", found.group())


def written_in(episode: Episode, chat: Chat | None, tags: Sequence[str] = ()) -> Written:
    """The last reply as text, with special tokens left out that are none of the tags, and what was given of it.

    Without a chat nothing can be decoded: the reply's message then stands for it, and nothing counts as given.
    """
    if chat is None:
        return Written("", episode.reply)
    said, before = _last_reply(episode.spans)
    keep = [mark for tag in tags for mark in _marks(tag)]
    forced = next((i for i, span in enumerate(before) if i and span.message is None), len(before))
    opened = _opened(_text(chat, before[:forced], keep), tags, chat.templated)
    return Written(opened + _text(chat, before[forced:], keep), _text(chat, said, keep))


def _last_reply(spans: Sequence[Span]) -> tuple[list[Span], list[Span]]:
    """(the sampled spans of the last reply, the spans right before them that were not sampled), each in order."""
    at = next((i for i in reversed(range(len(spans))) if spans[i].sampled), -1)
    runs: tuple[list[Span], list[Span]] = ([], [])
    for run, sampled in zip(runs, (True, False), strict=True):
        while at >= 0 and spans[at].sampled is sampled:
            run.insert(0, spans[at])
            at = spans[at].parent
    return runs


def _text(chat: Chat, spans: Sequence[Span], keep: Sequence[str]) -> str:
    ids: IntArray = np.concatenate([span.tokens for span in spans]) if spans else np.empty(0, dtype=np.int64)
    text = chat.decode_all(ids)
    added = {str(token) for token in chat.tokenizer.added_tokens_decoder.values() if token.special}
    for token in sorted({*added, *chat.tokenizer.all_special_tokens} - set(keep), key=len, reverse=True):
        text = text.replace(token, "")
    return text


def _opened(prompt: str, tags: Sequence[str], templated: bool) -> str:
    """The tag that the end of a prompt opens, or the whole block that a template writes at its end; '' if neither.

    Text without a template may end with words about tags, so that a closed block is not taken for a part of the reply.
    """
    end = prompt.rstrip()
    for tag in tags:
        opening, closing = _marks(tag)
        start = end.rfind(opening)
        if start >= 0 and (end.endswith(opening) or (templated and end.endswith(closing))):
            return prompt[start:]
    return ""


def _marks(tag: str) -> tuple[str, str]:
    return f"<{tag}>", f"</{tag}>"


def _judged(written: Written, tags: Sequence[str], answer_follows: bool) -> Verdict:
    wanted = [mark for tag in tags for mark in _marks(tag)]
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
