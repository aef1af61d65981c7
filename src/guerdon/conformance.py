"""What a chat template does with conversations: the checks worth making before a run, with findings in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from guerdon.chat import Chat, TemplateError
from guerdon.types import Message

Parallel = Literal["one turn", "separate turns", "dropped", "refused"]

_USER: Message = {"role": "user", "content": "question"}
_REPLY: Message = {"role": "assistant", "content": "reply"}
_THOUGHTFUL: Message = {"role": "assistant", "content": "<think>\nthought\n</think>\n\nreply"}
_MORE: Message = {"role": "user", "content": "more"}
_CALLS: Message = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": f"call{k}0000", "type": "function", "function": {"name": f"tool{k}", "arguments": {}}} for k in (1, 2)
    ],
}
_RESULTS: list[Message] = [
    {"role": "tool", "content": f"result{k}", "tool_call_id": f"call{k}0000", "name": f"tool{k}"} for k in (1, 2)
]


@dataclass(frozen=True)
class Report:
    """How a tokenizer and its template write conversations.

    append_only: a reply and a further message extend what was rendered before. keeps_reasoning: also with reasoning
    in the reply. ends_turns: a special token closes an assistant turn. opens_think_tag: the policy starts inside
    `<think>`. parallel_tools: how two tool results in a row are kept. begins, ends: how many begin tokens open, and
    how many end tokens close, a conversation of one question and one reply. findings: what to know, most serious first.
    """

    templated: bool
    append_only: bool
    keeps_reasoning: bool
    ends_turns: bool
    opens_think_tag: bool
    parallel_tools: Parallel
    begins: int
    ends: int
    findings: tuple[str, ...]

    @property
    def fit(self) -> bool:
        """Whether multi-turn training sees what sampling saw, and replies can end."""
        return self.append_only and self.ends_turns and self.begins <= 1 and self.ends == 1


def examine(chat: Chat) -> Report:
    """Renders a handful of small conversations and reads off what the template does."""
    begins, ends = _edges(chat)
    facts: dict[str, Any] = {
        "templated": chat.templated,
        "append_only": _extends(chat, _REPLY),
        "keeps_reasoning": _extends(chat, _THOUGHTFUL),
        "ends_turns": chat.turn_end is not None,
        "opens_think_tag": _opens_think_tag(chat),
        "parallel_tools": _parallel_tools(chat),
        "begins": begins,
        "ends": ends,
    }
    return Report(**facts, findings=tuple(_findings(**facts)))


def _extends(chat: Chat, reply: Message) -> bool:
    try:
        chat.conversation([_USER, reply, _MORE])
    except TemplateError:
        return False
    return True


def _opens_think_tag(chat: Chat) -> bool:
    if not chat.templated:
        return False
    opening = chat.render([_USER], reply=True)
    return opening.rfind("<think>") > opening.rfind("</think>")


def _parallel_tools(chat: Chat) -> Parallel:
    if not chat.templated:
        return "separate turns"
    try:
        text = chat.render([_USER, _CALLS, *_RESULTS], reply=True)
        one = chat.render([_USER, _CALLS, _RESULTS[0]])
    except TemplateError:
        return "refused"
    if "result1" not in text or "result2" not in text:
        return "dropped"
    return "separate turns" if text.startswith(one) else "one turn"


def _edges(chat: Chat) -> tuple[int, int]:
    """(begin tokens in a row at the start, end tokens in a row at the end) of one question and one reply."""
    try:
        ids = [int(i) for i in chat.conversation([_USER, _REPLY])[0]]
    except TemplateError:
        return 0, 0
    begin, ends = chat.tokenizer.bos_token_id, {chat.end, chat.turn_end}
    begins = next((k for k, i in enumerate(ids) if i != begin), len(ids))
    return begins, _ends_in_a_row(chat, ids, ends)


def _ends_in_a_row(chat: Chat, ids: list[int], ends: set[int | None]) -> int:
    """End tokens after the reply, white space between and after them passed over."""
    count = 0
    for i in reversed(ids):
        if i in ends:
            count += 1
        elif chat.decode_all([i]).strip():
            break
    return count


def _findings(
    templated: bool,
    append_only: bool,
    keeps_reasoning: bool,
    ends_turns: bool,
    opens_think_tag: bool,
    parallel_tools: Parallel,
    begins: int,
    ends: int,
) -> list[str]:
    notes = [
        (not append_only, "The template rewrites earlier turns, so several turns cannot be trained as sampled."),
        (not ends_turns, "The template closes no assistant turn; the end token is added to the last one."),
        (begins > 1, f"{begins} begin tokens open a conversation; one is right. Remove it from the template."),
        (ends > 1, f"{ends} end tokens close a reply; one is right. Remove the second from the template."),
        (
            append_only and not keeps_reasoning,
            "The template drops the reasoning of earlier replies, so turns after a user message are refused when a "
            "reply holds reasoning.",
        ),
        (opens_think_tag, "The prompt ends inside <think>: the policy's text starts without the opening tag."),
        (parallel_tools == "dropped", "The template leaves out tool results; use text environments with it."),
        (parallel_tools == "refused", "The template refuses tool messages; use text environments with it."),
        (not templated, "No chat template: conversations are their contents end to end, and roles are not visible."),
    ]
    return [text for holds, text in notes if holds]
