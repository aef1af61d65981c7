"""One row of data, whatever layout its file has: what each part is, checked, and everything else it holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from guerdon.types import EMPTY, Message

Text = str | list[Message]
"""Text, or chat messages."""


@dataclass(frozen=True)
class Row:
    """What a row says. A part that its layout does not have is None.

    number: of the row in its file, from 1. prompt: what is put to the policy. messages: a whole conversation, in which
    every reply of the assistant is learned. text: learned from end to end. completion, chosen, rejected: replies to the
    prompt; without a prompt, chosen and rejected are whole conversations that differ in their last reply. margin: by
    how much chosen is better. label: whether the completion is a good one. steps: (step, whether it is right).
    answer: what a reward compares with, as it is stored. data: every column that is none of these, and the answer's.
    """

    number: int
    prompt: Text | None = None
    messages: list[Message] | None = None
    text: str | None = None
    completion: Text | None = None
    chosen: Text | None = None
    rejected: Text | None = None
    margin: float | None = None
    label: bool | None = None
    steps: tuple[tuple[str, bool], ...] | None = None
    answer: Any = None
    data: Mapping[str, Any] = EMPTY

    @property
    def asked(self) -> str:
        """The problem as text: the prompt, of a conversation what the user said. What overlap is measured on."""
        told = self.prompt if self.prompt is not None else self.messages or self.text or self.chosen
        if told is None or isinstance(told, str):
            return told or ""
        said = [message for message in told if message.get("role") == "user"]
        return "\n".join(content(message) for message in said or told)

    @property
    def target(self) -> Any:
        """What answers the prompt: the answer, or whatever is learned; None where there is nothing."""
        parts = (self.answer, self.completion, self.messages, self.text, self.chosen, self.steps)
        return next((part for part in parts if part is not None), None)


def content(message: Message) -> str:
    """The text of a message; of several parts, those that are text."""
    said = message.get("content")
    if isinstance(said, list):
        return "".join(str(part.get("text") or "") for part in said if isinstance(part, Mapping))
    return "" if said is None else str(said)


def plain(value: Any) -> str:
    """A value as people read it: messages as 'role: content' lines, text as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(one, Mapping) and "role" in one for one in value):
        return "\n".join(f"{one['role']}: {content(one)}" for one in value)
    return json.dumps(value, ensure_ascii=False, default=str)
