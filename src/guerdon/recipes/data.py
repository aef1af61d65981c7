"""Rows of a file as groups to learn from: demonstrations to imitate, and pairs to prefer.

Tokens that are to be trained on are 'sampled' spans whose log-probabilities are 0, since nobody drew them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from guerdon.tasks.files import read_rows
from guerdon.types import Episode, Group, Pair, Span, Task

if TYPE_CHECKING:
    from guerdon.chat import Chat

Row = Mapping[str, Any]
Read = Callable[[Row, "Chat", str], Group]
"""(row, chat, name of the row) -> the group it stands for. ValueError says what is wrong with the row."""


def groups(file: str, read: Read, chat: Chat) -> list[Group]:
    """A group per row of a .jsonl, .json, .csv or .parquet file. BadRow names the file and the row that is unfit."""
    path = Path(file).expanduser()
    found = []
    for one in read_rows(path):
        if one.fault is not None:
            raise one.fault
        try:
            found.append(read(one.row, chat, f"{path.name}/{one.number}"))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path}, row {one.number}: {error}") from error
    return found


def demonstration(row: Row, chat: Chat, name: str) -> Group:
    """Columns prompt and completion: the completion is learned. Column messages: every assistant message is."""
    if row.get("messages"):
        return [_episode(name, list(row["messages"]), chat, last=False)]
    if row.get("prompt") is None or row.get("completion") is None:
        raise ValueError(f"columns are {sorted(row)}; expected 'prompt' and 'completion', or 'messages'")
    return [_episode(name, _dialogue(row["prompt"], row["completion"], chat), chat)]


def preference(row: Row, chat: Chat, name: str) -> Group:
    """Columns chosen and rejected with the prompt they answer, or whole conversations that differ in the last reply."""
    if row.get("chosen") is None or row.get("rejected") is None:
        raise ValueError(f"columns are {sorted(row)}; expected 'prompt', 'chosen' and 'rejected'")
    chosen, rejected = (
        _episode(name, _dialogue(row.get("prompt"), row[side], chat), chat) for side in ("chosen", "rejected")
    )
    if row["chosen"] == row["rejected"]:
        raise ValueError("chosen and rejected are the same; expected two different replies")
    margin = row.get("margin")
    return Pair(chosen, rejected, 1.0 if margin is None else float(margin)).group()


def _dialogue(prompt: Any, reply: Any, chat: Chat) -> list[Mapping[str, Any]]:
    before = [] if prompt is None else chat.messages(prompt)
    if isinstance(reply, str):
        if not before:
            raise ValueError("there is no 'prompt', and the reply is text; expected a prompt or a list of messages")
        return [*before, {"role": "assistant", "content": reply}]
    return [*before, *chat.messages(reply)]


def _episode(name: str, messages: Sequence[Mapping[str, Any]], chat: Chat, last: bool = True) -> Episode:
    """A chain of spans, alternately given and learned. last: only the last reply is learned."""
    ids, owner = chat.conversation(list(messages), last=last)
    edges = [0, *(np.flatnonzero(np.diff(owner)) + 1).tolist(), len(ids)]
    spans: list[Span] = []
    for start, end in pairwise(edges):
        learned = bool(owner[start])
        logprobs = np.zeros(end - start, np.float32) if learned else None
        message = {"role": "assistant", "content": chat.decode(ids[start:end])} if learned else None
        spans.append(Span(ids[start:end], logprobs, parent=len(spans) - 1, message=message))
    return Episode(Task(name, list(messages[:-1])), spans)
