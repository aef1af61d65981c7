"""Messages <-> token ids: the only place where text becomes the ids a policy sees.

Whole conversations are rendered, never single messages, and what the policy sampled is never tokenised again: a
conversation grows by the ids that a template puts after a reply (`Chat.extend`). A template that would rewrite what
was already seen is refused, with the index of the message where it does. `guerdon.conformance` reports on a template.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from guerdon.types import EMPTY, IntArray, Message

if TYPE_CHECKING:
    from guerdon.conformance import Report

Tools = Sequence[Any] | None
BoolArray = NDArray[np.bool_]

_PROBE = "probe"
_THOUGHT = "<think>\nthought\n</think>\n\n"


class TemplateError(ValueError):
    """A conversation that the chat template cannot render as the policy would see it turn by turn."""


@dataclass(frozen=True, eq=False)
class Chat:
    """How conversations are written for one tokenizer.

    template: use the tokenizer's chat template; None: if it has one. options: further variables of the template
    (`enable_thinking`, ...). Without a template a conversation is its contents end to end, every assistant content
    closed by the end token. `tools` in the methods are JSON schemas or documented functions; empty means absent.
    """

    tokenizer: Any
    template: bool | None = None
    options: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        if self.template and not self.tokenizer.chat_template:
            raise ValueError(
                "template=True, but the tokenizer has no chat template; set `tokenizer.chat_template`, or use "
                "template=False for plain text"
            )

    @property
    def templated(self) -> bool:
        return bool(self.tokenizer.chat_template) if self.template is None else self.template

    def messages(self, prompt: Any) -> list[Message]:
        """The prompt as messages; text, and ids as the text they stand for, are one user message."""
        if isinstance(prompt, str):
            return [{"role": "user", "content": prompt}]
        if _is_ids(prompt):
            return [{"role": "user", "content": self.decode(prompt)}]
        return _checked(prompt)

    def prompt(self, prompt: Any, tools: Tools = None) -> IntArray:
        """[n] ids the policy continues: text, a list of messages that ends before a reply, or ids (kept as given)."""
        if _is_ids(prompt):
            return np.asarray(prompt, dtype=np.int64)
        messages = self.messages(prompt)
        if messages[-1]["role"] == "assistant":
            raise TemplateError(
                f"message {len(messages) - 1}: a prompt ends before the reply, but this one ends with an assistant "
                "message; drop it, or force the start of the reply with `Sampling.prefix`"
            )
        if not self.templated:
            self._refuse_tools(tools)
            return np.concatenate([self._plain(i, message) for i, message in enumerate(messages)])
        return self.encode(self.render(messages, tools, reply=True))

    def decode(self, ids: Sequence[int] | IntArray) -> str:
        """Text for people and rewards: special tokens left out."""
        return self._decode(ids, skip=True)

    def decode_all(self, ids: Sequence[int] | IntArray) -> str:
        """Text with the special tokens visible."""
        return self._decode(ids, skip=False)

    def conversation(self, messages: Any, tools: Tools = None, last: bool = False) -> tuple[IntArray, BoolArray]:
        """(ids [n], owner [n]): the whole conversation, and which ids the assistant wrote, its turn ends included.

        last: only the last assistant message is owned, and earlier ones need not be as they were sampled. Raises
        `TemplateError` with the index of the first message that the full rendering shows differently from what the
        policy saw or wrote at its turn.
        """
        messages = _checked(messages)
        replies = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
        if not replies:
            raise TemplateError("the conversation has no assistant message, so there is nothing to learn from it")
        for i in replies:
            if i + 1 in replies:
                raise TemplateError(f"message {i + 1}: two assistant messages in a row; join them or drop one")
        owned = replies[-1:] if last else replies
        if not self.templated:
            self._refuse_tools(tools)
            return self._plain_conversation(messages, owned)
        text = self.render(messages, tools)
        ids = self.encode(text)
        owner = np.zeros(len(ids), dtype=bool)
        for i in owned:
            start, end = self._reply_in(text, messages, i, tools)
            owner[self._tokens_before(text, start, ids, i) : self._tokens_before(text, end, ids, i)] = True
        if self.turn_end is None and replies[-1] == len(messages) - 1:
            ids, owner = np.append(ids, self.end), np.append(owner, True)
        return ids, owner

    def extend(
        self,
        history_ids: Sequence[int] | IntArray,
        new_messages: Any,
        tools: Tools = None,
        history: Sequence[Message] | None = None,
    ) -> IntArray:
        """[m] ids that lead from a sampled reply at the end of `history_ids` to the next one, by `new_messages`.

        Closes the reply's turn if sampling did not. history: the messages so far, the reply included, for templates
        whose later turns depend on them. Raises `TemplateError` if the template would rewrite the history.
        """
        new = _checked(new_messages)
        if self.turn_end is not None and (len(history_ids) == 0 or int(history_ids[-1]) != self.turn_end):
            closing = np.array([self.turn_end], dtype=np.int64)
        else:
            closing = np.empty(0, dtype=np.int64)
        if not self.templated:
            self._refuse_tools(tools)
            return np.concatenate([closing, *(self._plain(1 + i, message) for i, message in enumerate(new))])
        past = self._stand_in(history_ids) if history is None else _checked(history)
        text = self.render([*past, *new], tools, reply=True)
        _, end = self._reply_in(text, past, len(past) - 1, tools)
        ids = self.encode(text)
        return np.concatenate([closing, ids[self._tokens_before(text, end, ids, len(past) - 1) :]])

    def conformance(self) -> Report:
        """What this tokenizer and its template do with conversations, in plain words."""
        from guerdon.conformance import examine

        return examine(self)

    @property
    def end(self) -> int:
        """Id of the tokenizer's end token."""
        if self.tokenizer.eos_token_id is None:
            raise ValueError(
                "the tokenizer names no end token, so no completion could ever end; name one that is in its "
                "vocabulary: `tokenizer.eos_token = ...`, or `load_policy(..., end_token=...)`"
            )
        return int(self.tokenizer.eos_token_id)

    @cached_property
    def turn_end(self) -> int | None:
        """Id that closes an assistant turn: the first special token the template writes after a reply.

        Without a template, the end token. None: the template closes no turns.
        """
        if not self.templated:
            return self.end
        text = self.render([{"role": "user", "content": "question"}, {"role": "assistant", "content": _PROBE}])
        if _PROBE not in text:
            raise TemplateError("the chat template leaves out the assistant's content, so it cannot be trained with")
        special = self._special
        return next((int(i) for i in self.encode(text[text.rindex(_PROBE) + len(_PROBE) :]) if int(i) in special), None)

    @cached_property
    def begin(self) -> int | None:
        """Id the tokenizer puts before plain text, if it does."""
        bos = self.tokenizer.bos_token_id
        with_special, without = self.tokenizer("a")["input_ids"], self.tokenizer("a", add_special_tokens=False)
        return bos if bos is not None and with_special[:1] == [bos] and without["input_ids"][:1] != [bos] else None

    def render(self, messages: Sequence[Message], tools: Tools = None, reply: bool = False) -> str:
        """The template's text for the whole conversation; `reply` adds what opens the next assistant turn."""
        template = self.tokenizer.get_chat_template(tools=list(tools) if tools else None)
        try:
            text = self.tokenizer.apply_chat_template(
                [_renderable(message) for message in messages],
                tools=list(tools) if tools else None,
                chat_template=template if tools else _without_tools(template),
                add_generation_prompt=reply,
                tokenize=False,
                **self.options,
            )
        except Exception as error:  # templates raise whatever they like; the cause is kept
            roles = ", ".join(str(message.get("role")) for message in messages) or "none"
            raise TemplateError(f"the chat template refused a conversation of roles [{roles}]: {error}") from error
        return str(text)

    def encode(self, text: str) -> IntArray:
        """[n] ids of text that already holds its special tokens; none is added."""
        ids = self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return np.asarray(ids, dtype=np.int64)

    @cached_property
    def _special(self) -> frozenset[int]:
        added = {i for i, token in self.tokenizer.added_tokens_decoder.items() if token.special}
        return frozenset(added | set(self.tokenizer.all_special_ids))

    def _decode(self, ids: Sequence[int] | IntArray, skip: bool) -> str:
        plain = [int(i) for i in ids]
        return str(self.tokenizer.decode(plain, skip_special_tokens=skip, clean_up_tokenization_spaces=False))

    def _plain(self, position: int, message: Message) -> IntArray:
        """One message without a template; `position` 0 opens the sequence."""
        ids = self.encode(str(message.get("content") or ""))
        if message["role"] == "assistant" and (len(ids) == 0 or ids[-1] != self.end):
            ids = np.append(ids, self.end)
        if position == 0 and self.begin is not None and (len(ids) == 0 or ids[0] != self.begin):
            ids = np.insert(ids, 0, self.begin)
        return ids

    def _plain_conversation(self, messages: Sequence[Message], owned: Sequence[int]) -> tuple[IntArray, BoolArray]:
        parts = [self._plain(i, message) for i, message in enumerate(messages)]
        owner = [np.full(len(part), i in owned) for i, part in enumerate(parts)]
        if self.begin is not None:
            owner[0][:1] = False
        return np.concatenate(parts), np.concatenate(owner)

    def _refuse_tools(self, tools: Tools) -> None:
        if tools:
            raise ValueError("tools need a chat template that can describe them, and this chat is plain text")

    def _stand_in(self, history_ids: Sequence[int] | IntArray) -> list[Message]:
        """A short history that a template treats like the real one: reasoning in the reply iff the ids hold some."""
        thought = _THOUGHT if "</think>" in self.decode_all(history_ids) else ""
        return [{"role": "user", "content": "question"}, {"role": "assistant", "content": thought + _PROBE}]

    def _reply_in(self, text: str, messages: Sequence[Message], i: int, tools: Tools) -> tuple[int, int]:
        """(start, end) of what the assistant wrote as message i in the rendering `text`, its turn end included."""
        before = self.render(messages[:i], tools, reply=True)
        if not text.startswith(before):
            raise TemplateError(
                f"message {i}: the chat template is not append-only: later messages change what stood before this "
                f"reply when it was written ({_differ(before, text)}). Use a template that keeps earlier turns as "
                "they were, or train each reply with its own history"
            )
        for written in self._as_written(before, messages, i, tools):
            if text.startswith(written):
                return len(before), len(written)
        raise TemplateError(
            f"message {i}: the chat template is not append-only: this reply is rendered differently once more messages "
            f"follow ({_differ(written, text)}), for example without its reasoning. Use a template that keeps replies "
            "as they were written, or train each reply with its own history"
        )

    def _as_written(self, before: str, messages: Sequence[Message], i: int, tools: Tools) -> list[str]:
        """History up to the end of reply i: with its content verbatim, or as the template writes it when it is last."""
        closing = "" if self.turn_end is None else str(self.tokenizer.convert_ids_to_tokens(self.turn_end))
        last = self.render(messages[: i + 1], tools)
        if closing and closing in last[len(before) :]:
            last = last[: last.rindex(closing) + len(closing)]
        verbatim = before + str(messages[i].get("content") or "") + closing
        return [last] if messages[i].get("tool_calls") else [verbatim, last]

    def _tokens_before(self, text: str, position: int, ids: IntArray, i: int) -> int:
        head = self.encode(text[:position])
        if not np.array_equal(ids[: len(head)], head):
            near = text[max(0, position - 20) : position + 20]
            raise TemplateError(
                f"message {i}: a token straddles the edge of this reply (near {near!r}), so the ids would "
                "differ from those seen when sampling; strip white space at the reply's ends"
            )
        return len(head)


def _is_ids(prompt: Any) -> bool:
    if isinstance(prompt, np.ndarray):
        return True
    return isinstance(prompt, (list, tuple)) and len(prompt) > 0 and all(isinstance(i, Integral) for i in prompt)


def _checked(messages: Any) -> list[Message]:
    if not isinstance(messages, (list, tuple)) or len(messages) == 0:
        raise TypeError(
            f"expected text, a non-empty list of messages, or a list of token ids; got {type(messages).__name__} "
            f"{messages!r:.80}"
        )
    for i, message in enumerate(messages):
        if not isinstance(message, Mapping) or "role" not in message:
            raise TypeError(f"message {i}: expected a mapping with 'role' and 'content'; got {message!r:.80}")
    return list(messages)


def _renderable(message: Message) -> dict[str, Any]:
    """The message as templates expect it: text for missing content, tool arguments as data rather than JSON text."""
    plain = dict(message)
    if plain.get("content") is None:
        plain["content"] = ""
    if not plain.get("tool_calls"):
        plain.pop("tool_calls", None)
        return plain
    plain["tool_calls"] = [_parsed_call(call) for call in plain["tool_calls"]]
    return plain


def _parsed_call(call: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(call.get("function"), Mapping):
        return {**call, "function": _parsed_call(call["function"])}
    arguments = call.get("arguments")
    if not isinstance(arguments, str):
        return dict(call)
    try:
        return {**call, "arguments": json.loads(arguments)}
    except json.JSONDecodeError:  # the model may write broken JSON; it is then shown as it is
        return dict(call)


def _without_tools(template: str) -> str:
    """The template with `tools is defined` false for None, which is how transformers passes absent tools."""
    template = re.sub(r"\btools\s+is\s+not\s+defined\b", "(tools is not defined or tools is none)", template)
    return re.sub(r"\btools\s+is\s+defined\b", "(tools is defined and tools is not none)", template)


def _differ(expected: str, found: str) -> str:
    """Where two renderings part, in a few characters."""
    pairs = zip(expected, found, strict=False)
    at = next((k for k, (a, b) in enumerate(pairs) if a != b), min(len(expected), len(found)))
    return f"{expected[at : at + 30]!r} became {found[at : at + 30]!r}"
