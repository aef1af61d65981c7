"""Replies in steps, as episodes: what is known, or asked, of a step belongs to its last token.

A step is tokenised on its own together with the separator after it, the last one with the token that ends the reply
instead, so that its last token comes after all of it. A reply of one step is judged at its end token, as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from guerdon.types import Episode, Span, Task

if TYPE_CHECKING:
    from guerdon.chat import Chat

SEPARATOR = "\n"
"""Between two steps."""

LABEL = "label"
"""Stream of a step's label, a probability from 0 to 1, at its last token."""


def in_steps(
    name: str,
    prompt: Any,
    steps: Sequence[str],
    chat: Chat,
    labels: Sequence[float] | None = None,
    separator: str = SEPARATOR,
) -> Episode:
    """Prompt and steps, in which the last token of each step is learned and nothing else. ValueError without steps."""
    if not steps:
        raise ValueError("there is no step; expected at least one")
    spans = [Span(chat.prompt(prompt))]
    end = chat.end if chat.turn_end is None else chat.turn_end
    for place, step in enumerate(steps):
        last = place == len(steps) - 1
        ids = np.append(chat.encode(step), end) if last else chat.encode(step + separator)
        if len(ids) > 1:
            spans.append(Span(ids[:-1], parent=len(spans) - 1))
        extra = {} if labels is None else {LABEL: float(labels[place])}
        said = {"role": "assistant", "content": step}
        spans.append(Span(ids[-1:], np.zeros(1, np.float32), parent=len(spans) - 1, message=said, extra=extra))
    return Episode(Task(name, prompt), spans)


def split_steps(reply: str, separator: str = SEPARATOR) -> list[tuple[str, int]]:
    """The steps of a reply, each with the place in the text where it ends; what is blank is none.

    A reply that says nothing is one empty step.
    """
    if not separator:
        raise ValueError("the separator of steps is empty; expected some text, such as a new line")
    found, place = [], 0
    for part in reply.split(separator):
        place += len(part)
        if part.strip():
            found.append((part, place))
        place += len(separator)
    return found or [("", len(reply))]
