"""What a chat template does with conversations: the checks worth making before a run, with findings in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from guerdon.chat import Chat, TemplateError
from guerdon.types import Message

Parallel = Literal["one turn", "separate turns", "dropped", "refused"]
Kept = Literal["kept", "dropped", "refused"]

_SYSTEM: Message = {"role": "system", "content": "behave"}
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
    `<think>`. parallel_tools: how two tool results in a row are kept; tool_turns: whether calls, results and the reply
    to them can be trained as they were sampled. empty_tools: whether the template writes an empty list of tools as it
    writes none. system: what becomes of a system message. begins, ends: how many begin tokens open, and how many end
    tokens close, a conversation of one question and one reply. adds_begin: the tokenizer puts a begin token before
    plain text. end_ids: all ids that end a completion. pad: the pad id.
    """

    templated: bool
    append_only: bool
    keeps_reasoning: bool
    ends_turns: bool
    opens_think_tag: bool
    parallel_tools: Parallel
    tool_turns: bool
    empty_tools: bool
    system: Kept
    begins: int
    ends: int
    adds_begin: bool
    end_ids: tuple[int, ...]
    pad: int | None

    @property
    def fit(self) -> bool:
        """Whether multi-turn training sees what sampling saw, and replies can end."""
        return not self.faults

    @property
    def faults(self) -> tuple[str, ...]:
        """What stands in the way of training, in plain words."""
        notes = [
            (
                not self.append_only,
                "The template rewrites earlier turns, so several turns cannot be trained as sampled.",
            ),
            (not self.ends_turns, "The template closes no assistant turn; the end token is added to the last one."),
            (self.begins > 1, f"{self.begins} begin tokens open a conversation; one is right. {_REMOVE} the others."),
            (self.ends > 1, f"{self.ends} end tokens close a reply; one is right. {_REMOVE} the others."),
            (self.append_only and self.ends < 1, "No end token closes a reply, so a policy would not learn to stop."),
        ]
        return tuple(text for holds, text in notes if holds)

    @property
    def findings(self) -> tuple[str, ...]:
        """What to know, the faults first."""
        notes = [
            (
                self.append_only and not self.keeps_reasoning,
                "The template drops the reasoning of earlier replies, so turns after a user message are refused when a "
                "reply holds reasoning.",
            ),
            (self.opens_think_tag, "The prompt ends inside <think>: the policy's text starts without the opening tag."),
            (self.parallel_tools in ("dropped", "refused"), _NO_TOOLS.get(self.parallel_tools, "")),
            (
                self.append_only and self.parallel_tools in ("one turn", "separate turns") and not self.tool_turns,
                "The template rewrites turns with tool calls, so they cannot be trained as sampled.",
            ),
            (
                not self.empty_tools,
                "The template writes an empty list of tools as if there were tools; here no tools are always none.",
            ),
            (self.system != "kept", f"A system message is {self.system} by the template."),
            (
                self.templated and self.adds_begin and self.begins == 0,
                "The tokenizer puts a begin token before plain text, but the template writes none.",
            ),
            (
                not self.templated,
                "No chat template: conversations are their contents end to end, and roles are not visible.",
            ),
        ]
        return (*self.faults, *(text for holds, text in notes if holds))


_REMOVE = "Let the template write one and remove"
_NO_TOOLS = {
    "dropped": "The template leaves out tool results; use text environments with it.",
    "refused": "The template refuses tool messages; use text environments with it.",
}


def examine(chat: Chat, generation: Any = None) -> Report:
    """Renders a handful of small conversations and reads off what the template does.

    generation: the model's generation config, which may name further end tokens. ValueError when there is no end
    token at all, or when the template does not take a question and a reply.
    """
    from guerdon.models.load import default_stop_tokens

    begins, ends = _edges(chat)
    return Report(
        templated=chat.templated,
        append_only=_extends(chat, [_USER, _REPLY, _MORE]),
        keeps_reasoning=_extends(chat, [_USER, _THOUGHTFUL, _MORE]),
        ends_turns=chat.turn_end is not None,
        opens_think_tag=_opens_think_tag(chat),
        parallel_tools=_parallel_tools(chat),
        tool_turns=_extends(chat, [_USER, _CALLS, *_RESULTS, _REPLY]),
        empty_tools=_empty_tools(chat),
        system=_system(chat),
        begins=begins,
        ends=ends,
        adds_begin=chat.begin is not None,
        end_ids=default_stop_tokens(chat.tokenizer, generation),
        pad=chat.tokenizer.pad_token_id,
    )


def _extends(chat: Chat, messages: list[Message]) -> bool:
    try:
        chat.conversation(messages)
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


def _empty_tools(chat: Chat) -> bool:
    """What the template itself does, asked without `Chat`, which takes an empty list for none."""
    if not chat.templated:
        return True

    def written(tools: list[Any] | None) -> str | None:
        settings = {"tools": tools, "tokenize": False, "add_generation_prompt": True, **chat.options}
        try:
            return str(chat.tokenizer.apply_chat_template([dict(_USER)], **settings))
        except Exception:  # templates raise whatever they like, also on None where they expect a list
            return None

    return written(None) == written([]) == chat.render([_USER], tools=[], reply=True)


def _system(chat: Chat) -> Kept:
    if not chat.templated:
        return "kept"
    try:
        text = chat.render([_SYSTEM, _USER], reply=True)
    except TemplateError:
        return "refused"
    return "kept" if str(_SYSTEM["content"]) in text else "dropped"


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
