"""Templates that start a reply inside or after its reasoning, and episodes with the tokens they lead to."""

from __future__ import annotations

import numpy as np

from guerdon.chat import Chat
from guerdon.types import Episode, Span, Stop, Task
from tests.test_chat import CHATML

OPENING = CHATML.replace("assistant\n{% endif %}", "assistant\n<think>\n{% endif %}")
"""Starts every reply inside <think>."""
CLOSING = CHATML.replace("assistant\n{% endif %}", "assistant\n<think>\n\n</think>\n\n{% endif %}")
"""Starts every reply after reasoning that is switched off."""


def episode(
    chat: Chat, reply: str, task: Task | None = None, prefix: str = "", stop: Stop = "stop", versions: int = 1
) -> Episode:
    """An episode with real tokens: prompt, forced prefix, the reply (in `versions` spans) and its end token."""
    task = task or Task("t", "q")
    spans = [Span(chat.prompt(task.prompt))]
    if prefix:
        spans.append(Span(chat.encode(prefix), parent=0))
    ids = np.append(chat.encode(reply), chat.turn_end)
    for part in np.array_split(ids, versions):
        spans.append(Span(part, -np.ones(len(part)), parent=len(spans) - 1))
    spans[-1].message = {"role": "assistant", "content": prefix + reply}
    return Episode(task, spans, stop=stop)
