"""What the policy wrote: its last reply as text, what the prompt opened before it, and what follows its reasoning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from guerdon.types import Episode, IntArray, Span

if TYPE_CHECKING:
    from guerdon.chat import Chat
    from guerdon.rollouts.base import Context


@dataclass(frozen=True)
class Written:
    """The last reply of an episode. given: its start, written by the prompt or a forced prefix; said: the policy's."""

    given: str
    said: str


def after_thought(reply: str) -> str:
    """What stands after the reasoning: after the last </think>; all of it without one; '' in an unfinished <think>."""
    _, closed, rest = reply.rpartition("</think>")
    if not closed and reply.lstrip().startswith("<think>"):
        return ""
    return rest


def reply_of(episode: Episode, context: Context | None) -> str:
    """The last reply with the <think> that the prompt opened for it, so that `after_thought` sees where that ends.

    Without a context nothing is known of the prompt: the reply as it is.
    """
    given = written_in(episode, context.chat, ("think",)).given if context else ""
    opened = given.startswith("<think>") and not episode.reply.startswith(given)
    return f"<think>{episode.reply}" if opened and "</think>" not in given else episode.reply


def written_in(episode: Episode, chat: Chat | None, tags: Sequence[str] = ()) -> Written:
    """The last reply as text, with special tokens left out that are none of the tags, and what was given of it.

    Without a chat nothing can be decoded: the reply's message then stands for it, and nothing counts as given.
    """
    if chat is None:
        return Written("", episode.reply)
    said, before = _last_reply(episode.spans)
    keep = [mark for tag in tags for mark in marks(tag)]
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
        opening, closing = marks(tag)
        start = end.rfind(opening)
        if start >= 0 and (end.endswith(opening) or (templated and end.endswith(closing))):
            return prompt[start:]
    return ""


def marks(tag: str) -> tuple[str, str]:
    return f"<{tag}>", f"</{tag}>"
