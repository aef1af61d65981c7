"""The parts of one row, checked: what a prompt, a reply, a conversation may be. BadRow says what else was found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from guerdon.data.layouts import Layout, value_of
from guerdon.data.row import Row, Text
from guerdon.tasks.files import BadRow, Numbered
from guerdon.types import Message

ROLES = ("system", "developer", "user", "assistant", "tool")
_SPEAKERS = {"human": "user", "gpt": "assistant"}
"""What `from` calls roles in conversations of from and value."""


def typed(one: Numbered, layout: Layout, where: str) -> Row:
    """A stored row as a typed one. BadRow when a part is missing or is not what its layout says."""
    return _Reader(one, layout, where).row()


@dataclass(frozen=True)
class _Reader:
    one: Numbered
    layout: Layout
    where: str

    def row(self) -> Row:
        return replace(self._parts(), data=self.layout.data(self.one.row))

    def _parts(self) -> Row:
        match self.layout.name:
            case "instruction":
                return self._instruction()
            case "messages":
                return Row(self.one.number, messages=self._conversation("messages"))
            case "text":
                return Row(self.one.number, text=self._text("text"))
            case "preference":
                return self._preference()
            case "unpaired-preference":
                return replace(self._completed(), label=self._truth("label"))
            case "stepwise":
                return self._stepwise()
            case "prompt-completion":
                return self._completed()
            case _:
                return self._problem()

    def _problem(self) -> Row:
        prompt = self._prompt("prompt")
        if "answer" not in self.layout.columns:
            return Row(self.one.number, prompt=prompt)
        if self._value("answer") in (None, []):
            self._bad(f"no value under {self._column('answer')!r}", "an answer")
        return Row(self.one.number, prompt=prompt, answer=self._value("answer"))

    def _instruction(self) -> Row:
        parts = [self._text("instruction")]
        if self._value("input"):
            parts.append(self._text("input"))
        return Row(self.one.number, prompt="\n\n".join(parts), completion=self._text("output"))

    def _preference(self) -> Row:
        prompt = None if self._value("prompt") is None else self._prompt("prompt")
        chosen, rejected = self._reply("chosen"), self._reply("rejected")
        if chosen == rejected:
            self._bad("chosen and rejected are the same", "two different replies")
        if prompt is None and (isinstance(chosen, str) or isinstance(rejected, str)):
            self._bad("there is no 'prompt', and a reply is text", "a prompt, or two conversations")
        if prompt is None and chosen[:-1] != rejected[:-1]:
            self._bad("chosen and rejected differ before their last reply", "two replies to the same conversation")
        if prompt is not None:
            chosen, rejected = _without(prompt, chosen), _without(prompt, rejected)
        return Row(self.one.number, prompt=prompt, chosen=chosen, rejected=rejected, margin=self._margin())

    def _margin(self) -> float | None:
        value = self._value("margin")
        if value is None:
            return None
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not 0 < number < math.inf:
            self._bad(f"the margin is {value!r}", "a number above 0")
        return number

    def _completed(self) -> Row:
        return Row(self.one.number, prompt=self._prompt("prompt"), completion=self._reply("completion"))

    def _truth(self, field: str) -> bool:
        value = self._value(field)
        if not isinstance(value, bool):
            self._bad(f"the {field} is {value!r}", "true or false")
        return value

    def _stepwise(self) -> Row:
        steps, labels = self._value("completions"), self._value("labels")
        texts = isinstance(steps, list) and all(isinstance(step, str) for step in steps)
        if not steps or not texts or not isinstance(labels, list) or not all(isinstance(x, bool) for x in labels):
            self._bad("completions and labels are not lists of text and of true or false", "one label for each step")
        if len(steps) != len(labels):
            self._bad(f"{len(steps)} completions and {len(labels)} labels", "one label for each step")
        pairs = tuple(zip(steps, labels, strict=True))
        return Row(self.one.number, prompt=self._prompt("prompt"), steps=pairs)

    def _text(self, field: str) -> str:
        value = self._some(field)
        if not isinstance(value, str) or not value.strip():
            self._bad(f"{self._column(field)!r} is {_what(value)}", "text")
        return str(value)

    def _prompt(self, field: str) -> Text:
        value, column = self._some(field), self._column(field)
        if isinstance(value, str) and value.strip():
            return value
        if not isinstance(value, list) or not value:
            self._bad(f"{column!r} is {_what(value)}", "text, or a list of messages")
        messages = [self._message(message, f"{column}[{i}]") for i, message in enumerate(value)]
        if messages[-1]["role"] == "assistant":
            self._bad(f"{column!r} ends with the assistant's turn", "a last message for the policy to answer")
        return messages

    def _reply(self, field: str) -> Text:
        value = self._some(field)
        return value if isinstance(value, str) else self._conversation(field)

    def _conversation(self, field: str) -> list[Message]:
        """Messages some of which are the assistant's, never two of them in a row."""
        value, column = self._some(field), self._column(field)
        if not isinstance(value, list) or not value:
            self._bad(f"{column!r} is {_what(value)}", "a list of messages")
        messages = [self._message(message, f"{column}[{i}]") for i, message in enumerate(value)]
        roles = [message["role"] for message in messages]
        if "assistant" not in roles:
            self._bad(f"{column!r} has no message of the assistant, so there is nothing to learn", "a reply")
        twice = [i for i in range(1, len(roles)) if roles[i - 1] == roles[i] == "assistant"]
        if twice:
            self._bad(f"{column}[{twice[0]}] is the second of two assistant messages in a row", "one; join or drop one")
        if field in ("completion", "chosen", "rejected") and roles[-1] != "assistant":
            self._bad(f"{column!r} ends with a message of the role {roles[-1]!r}", "a reply of the assistant")
        return messages

    def _message(self, value: Any, place: str) -> Message:
        if isinstance(value, Mapping) and "from" in value and "role" not in value:
            speaker = value["from"]
            value = {"role": _SPEAKERS.get(speaker, speaker), "content": value.get("value")}
        if not isinstance(value, Mapping) or value.get("role") not in ROLES:
            role = f"has the role {value.get('role')!r}" if isinstance(value, Mapping) else "is no object"
            self._bad(f"{place} {role}", f"an object with a role among {', '.join(ROLES)}")
        if not isinstance(value.get("content"), str | list) and not value.get("tool_calls"):
            self._bad(f"{place} has the content {value.get('content')!r}", "text")
        # Parquet gives every message every key that any message has.
        return {name: item for name, item in value.items() if item is not None or name == "content"}

    def _some(self, field: str) -> Any:
        value = self._value(field)
        if value is None:
            fields = " and ".join(repr(self._column(field)) for field in self.layout.kind.needs)
            self._bad(f"no value under {self._column(field)!r}, it has {sorted(self.one.row)}", fields)
        return value

    def _value(self, field: str) -> Any:
        return value_of(self.one.row, self._column(field)) if field in self.layout.columns else None

    def _column(self, field: str) -> str:
        return self.layout.columns.get(field, field)

    def _bad(self, found: str, expected: str) -> NoReturn:
        raise BadRow(self.where, self.one.number, found, expected)


def _without(prompt: Text, reply: Text) -> Text:
    """A reply that repeats the prompt before it, without the prompt."""
    if isinstance(reply, str):
        return reply
    before = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    return reply[len(before) :] if len(reply) > len(before) and reply[: len(before)] == before else reply


def _what(value: Any) -> str:
    return "empty" if value in ("", []) else f"a {type(value).__name__}"
