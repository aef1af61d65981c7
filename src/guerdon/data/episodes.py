"""What somebody wrote, as episodes: nobody sampled it, and yet it is what is learned from.

Tokens that are to be learned are 'sampled' spans whose log-probabilities are 0, since nobody drew them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from guerdon.types import Episode, Message, Span, Task

if TYPE_CHECKING:
    from guerdon.chat import Chat
    from guerdon.types import IntArray


def dialogue(prompt: Any, reply: Any, chat: Chat) -> list[Message]:
    """The messages of a prompt and of the reply to it."""
    before = [] if prompt is None else chat.messages(prompt)
    return [*before, *([{"role": "assistant", "content": reply}] if isinstance(reply, str) else reply)]


def written(name: str, messages: Sequence[Mapping[str, Any]], chat: Chat, last: bool = True) -> Episode:
    """A chain of spans, alternately given and learned. last: only the last reply is learned."""
    ids, owner = chat.conversation(list(messages), last=last)
    edges = [0, *(np.flatnonzero(np.diff(owner)) + 1).tolist(), len(ids)]
    spans: list[Span] = []
    for start, end in pairwise(edges):
        spans.append(_span(ids[start:end], bool(owner[start]), len(spans) - 1, chat))
    return Episode(Task(name, list(messages[:-1])), spans)


def from_text(name: str, text: str, chat: Chat) -> Episode:
    """Begin token or, where there is none, the first token given, since nothing stands before it; the rest learned."""
    ids = chat.encode(text)
    if chat.begin is not None and ids[:1].tolist() != [chat.begin]:
        ids = np.insert(ids, 0, chat.begin)
    if ids[-1] != chat.end:
        ids = np.append(ids, chat.end)
    return Episode(Task(name, ""), [_span(ids[:1], False, -1, chat), _span(ids[1:], True, 0, chat)])


def _span(ids: IntArray, learned: bool, parent: int, chat: Chat) -> Span:
    message = {"role": "assistant", "content": chat.decode(ids)} if learned else None
    return Span(ids, np.zeros(len(ids), np.float32) if learned else None, parent=parent, message=message)
