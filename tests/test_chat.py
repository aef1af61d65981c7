"""Chat: what conversations become, on small tokenizers and templates made here; no test needs a download."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import GenerationConfig, PreTrainedTokenizerFast

from guerdon.chat import Chat, TemplateError
from guerdon.models.load import default_stop_tokens

CHATML = (
    "{% for m in messages %}<|s|>{{ m.role }}\n{{ m.content }}<|e|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|s|>assistant\n{% endif %}"
)
"""Append-only; closes its turns with <|e|>."""

FORGETFUL = (
    "{% for m in messages %}<|s|>{{ m.role }}\n"
    "{% if '</think>' in m.content and not loop.last %}{{ m.content.split('</think>')[-1].lstrip('\n') }}"
    "{% else %}{{ m.content }}{% endif %}<|e|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|s|>assistant\n{% endif %}"
)
"""Drops the reasoning of every reply but the last."""

REWRITING = (
    "{% for m in messages %}{% if loop.last %}(last) {% endif %}{{ m.role }}: {{ m.content }}<|e|>{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
"""Not append-only: the last message is marked, so every new message changes the one before."""

TOOLS = (
    "{% for m in messages %}"
    "{% if m.role == 'tool' %}"
    "{% if loop.first or messages[loop.index0 - 1].role != 'tool' %}<|s|>user\n{% endif %}"
    "[{{ m.content }}]"
    "{% if loop.last or messages[loop.index0 + 1].role != 'tool' %}<|e|>\n{% endif %}"
    "{% else %}<|s|>{{ m.role }}\n{{ m.content }}"
    "{% for call in m.tool_calls or [] %}<call>{{ call.function.arguments | tojson }}</call>{% endfor %}<|e|>\n"
    "{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|s|>assistant\n{% endif %}"
)
"""Puts consecutive tool results into one user turn."""

BOS_TEMPLATE = (
    "<|b|>{% for m in messages %}{{ m.role }}: {{ m.content }}{% if m.role == 'assistant' %}<|end|>{% endif %}\n"
    "{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)
"""Writes the begin token itself and closes replies with the end token."""


def tokenizer(template: str | None = None, bos: bool = False, merges: tuple[str, ...] = ()) -> Any:
    """Characters (and `merges`, words matched first); specials <|pad|>, <|end|>, <|s|>, <|e|>, <|b|>."""
    special = ["<|pad|>", "<|end|>", "<|s|>", "<|e|>", "<|b|>", "<|unk|>"]
    words = [*special, *merges, *map(chr, range(32, 127)), "\n", "é"]
    core = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<|unk|>"))
    pattern = "|".join([*merges, r"[\s\S]"])
    core.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
    core.decoder = decoders.Fuse()
    if bos:
        core.post_processor = processors.TemplateProcessing(single="<|b|> $A", special_tokens=[("<|b|>", 4)])
    made = PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="<|end|>",
        pad_token="<|pad|>",
        unk_token="<|unk|>",
        bos_token="<|b|>" if bos or template == BOS_TEMPLATE else None,
        additional_special_tokens=["<|s|>", "<|e|>"],
    )
    made.chat_template = template
    return made


def user(content: str) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def tool(content: str) -> dict[str, Any]:
    return {"role": "tool", "content": content}


def call(**arguments: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", "arguments": arguments}}


def owned(chat: Chat, messages: list[Any], **settings: Any) -> str:
    ids, owner = chat.conversation(messages, **settings)
    return chat.decode_all(ids[owner])


# --- prompts -----------------------------------------------------------------------------------------------------


def test_text_is_one_user_message_where_there_is_a_template() -> None:
    chat = Chat(tokenizer(CHATML))
    assert chat.decode_all(chat.prompt("hi")) == "<|s|>user\nhi<|e|>\n<|s|>assistant\n"
    assert chat.prompt("hi").tolist() == chat.prompt([user("hi")]).tolist()
    assert chat.prompt("hi").dtype == np.int64


def test_text_is_plain_where_there_is_no_template_or_none_is_wanted() -> None:
    assert Chat(tokenizer()).decode_all(Chat(tokenizer()).prompt("1+2=")) == "1+2="
    plain = Chat(tokenizer(CHATML), template=False)
    assert plain.decode_all(plain.prompt("1+2=")) == "1+2="
    assert plain.turn_end == plain.end == 1


def test_begin_token_is_added_iff_the_tokenizer_adds_it_and_never_twice() -> None:
    with_bos, without = Chat(tokenizer(bos=True)), Chat(tokenizer())
    assert with_bos.decode_all(with_bos.prompt("x")) == "<|b|>x"
    assert with_bos.decode_all(with_bos.prompt("<|b|>x")) == "<|b|>x"
    assert without.decode_all(without.prompt("x")) == "x"
    templated = Chat(tokenizer(CHATML, bos=True))
    assert 4 not in templated.prompt("x")  # a template writes its own begin token, or there is none


def test_ids_are_kept_as_given() -> None:
    chat = Chat(tokenizer(CHATML, bos=True))
    assert chat.prompt([5, 6, 7]).tolist() == [5, 6, 7]
    assert chat.prompt(np.array([5, 6])).tolist() == [5, 6]


def test_messages_of_text_messages_and_ids() -> None:
    chat = Chat(tokenizer(CHATML))
    assert chat.messages("hi") == [user("hi")]
    assert chat.messages([user("hi")]) == [user("hi")]
    assert chat.messages(chat.encode("hi<|e|>")) == [user("hi")]


@pytest.mark.parametrize("prompt", [[], None, 3, [1, "a"], ["a"], [{"content": "no role"}]])
def test_prompts_of_no_known_form_are_refused(prompt: Any) -> None:
    with pytest.raises(TypeError, match="expected"):
        Chat(tokenizer(CHATML)).prompt(prompt)


def test_a_prompt_that_ends_with_a_reply_is_refused() -> None:
    with pytest.raises(TemplateError, match="message 1: a prompt ends before the reply"):
        Chat(tokenizer(CHATML)).prompt([user("a"), assistant("b")])


def test_a_wanted_template_must_exist() -> None:
    with pytest.raises(ValueError, match="has no chat template"):
        Chat(tokenizer(), template=True)


def test_missing_content_and_empty_content_are_the_same() -> None:
    chat = Chat(tokenizer(TOOLS))
    a, b = (chat.prompt([user("q"), assistant(c, tool_calls=[call()]), tool("r")]) for c in ("", None))  # type: ignore[arg-type]
    assert a.tolist() == b.tolist()


def test_tool_arguments_as_json_text_and_as_data_are_the_same() -> None:
    chat = Chat(tokenizer(TOOLS))
    as_text = {"type": "function", "function": {"name": "f", "arguments": json.dumps({"x": 1})}}
    a, b = (chat.render([user("q"), assistant("", tool_calls=[c])]) for c in (call(x=1), as_text))
    assert a == b
    assert '<call>{"x": 1}</call>' in a


def test_what_the_template_raises_is_told_with_the_roles() -> None:
    chat = Chat(tokenizer("{{ raise_exception('no system here') }}"))
    with pytest.raises(TemplateError, match=r"roles \[system, user\].*no system here"):
        chat.prompt([{"role": "system", "content": "s"}, user("u")])


# --- decoding ----------------------------------------------------------------------------------------------------


def test_decode_hides_special_tokens_and_decode_all_shows_them() -> None:
    chat = Chat(tokenizer(CHATML))
    ids = chat.encode("<|s|>a b ,c<|e|>")
    assert chat.decode(ids) == "a b ,c"
    assert chat.decode_all(ids) == "<|s|>a b ,c<|e|>"


@given(st.text(alphabet=[chr(i) for i in range(32, 127)] + ["\n", "é"], max_size=40).filter(lambda t: "<|" not in t))
@settings(max_examples=30, deadline=None)
def test_plain_text_survives(text: str) -> None:
    chat = Chat(tokenizer())
    assert chat.decode(chat.encode(text)) == text


# --- whole conversations -----------------------------------------------------------------------------------------


def test_the_assistant_owns_its_words_and_its_turn_end() -> None:
    chat = Chat(tokenizer(CHATML))
    messages = [user("a"), assistant("bc"), user("d"), assistant("e")]
    ids, owner = chat.conversation(messages)
    assert chat.decode_all(ids) == chat.render(messages)
    assert chat.decode_all(ids[owner]) == "bc<|e|>e<|e|>"
    assert owned(chat, messages, last=True) == "e<|e|>"


TURNS = st.lists(st.text(alphabet="abc \n", min_size=1, max_size=6), min_size=2, max_size=8).map(
    lambda texts: [user(t) if i % 2 == 0 else assistant(t) for i, t in enumerate(texts[: len(texts) // 2 * 2])]
)


@pytest.mark.parametrize("template", [CHATML, FORGETFUL, TOOLS, BOS_TEMPLATE, None])
@given(messages=TURNS)
@settings(max_examples=15, deadline=None)
def test_turn_by_turn_ids_are_the_ids_of_the_whole(template: str | None, messages: list[Any]) -> None:
    """Sampling each reply after the ids so far, and rendering the whole: the same ids, and the sampled ones owned."""
    chat = Chat(tokenizer(template))
    ids, owner = chat.prompt(messages[:1]), np.zeros(len(chat.prompt(messages[:1])), dtype=bool)
    for i in range(1, len(messages), 2):
        reply = np.append(chat.encode(messages[i]["content"]), chat.turn_end)
        ids, owner = np.concatenate([ids, reply]), np.append(owner, np.ones(len(reply), dtype=bool))
        if i + 1 < len(messages):
            more = chat.extend(ids, messages[i + 1 : i + 2])
            assert more.tolist() == chat.extend(ids, messages[i + 1 : i + 2], history=messages[: i + 1]).tolist()
            ids, owner = np.concatenate([ids, more]), np.append(owner, np.zeros(len(more), dtype=bool))
    whole, whole_owner = chat.conversation(messages)
    assert whole[: len(ids)].tolist() == ids.tolist()
    assert whole_owner[: len(ids)].tolist() == owner.tolist()
    assert not whole_owner[len(ids) :].any()


def test_a_template_that_rewrites_is_refused_with_the_message() -> None:
    chat = Chat(tokenizer(REWRITING))
    messages = [user("a"), assistant("b"), user("c"), assistant("d")]
    with pytest.raises(TemplateError, match="message 1: the chat template is not append-only"):
        chat.conversation(messages)
    with pytest.raises(TemplateError, match="append-only"):
        chat.extend(chat.encode("x<|e|>"), [user("c")])


def test_reasoning_that_a_template_drops_is_refused_where_it_is_dropped() -> None:
    chat = Chat(tokenizer(FORGETFUL))
    thoughtful = assistant("<think>\nt\n</think>\n\nb")
    messages = [user("a"), thoughtful, user("c"), thoughtful]
    with pytest.raises(TemplateError, match=r"message 1: .* its reasoning"):
        chat.conversation(messages)
    assert owned(chat, messages, last=True) == "<think>\nt\n</think>\n\nb<|e|>"
    assert owned(chat, messages[:2]) == "<think>\nt\n</think>\n\nb<|e|>"
    sampled = np.concatenate([chat.prompt("a"), chat.encode("<think>\nt\n</think>\n\nb<|e|>")])
    with pytest.raises(TemplateError, match="append-only"):
        chat.extend(sampled, [user("c")])
    assert chat.decode_all(chat.extend(chat.encode("b<|e|>"), [user("c")])) == "\n<|s|>user\nc<|e|>\n<|s|>assistant\n"


def test_a_token_across_the_edge_of_a_reply_is_refused() -> None:
    chat = Chat(tokenizer(CHATML, merges=("\n\n",)))
    assert owned(chat, [user("a"), assistant("b")]) == "b<|e|>"
    with pytest.raises(TemplateError, match="message 1: a token straddles the edge"):
        chat.conversation([user("a"), assistant("\nb")])


def test_conversations_without_a_target_or_with_two_replies_in_a_row_are_refused() -> None:
    chat = Chat(tokenizer(CHATML))
    with pytest.raises(TemplateError, match="no assistant message"):
        chat.conversation([user("a")])
    with pytest.raises(TemplateError, match="message 2: two assistant messages in a row"):
        chat.conversation([user("a"), assistant("b"), assistant("c")])


def test_extend_closes_a_reply_that_was_cut_off() -> None:
    chat = Chat(tokenizer(CHATML))
    assert chat.decode_all(chat.extend(chat.encode("half a re"), [user("c")])).startswith("<|e|>\n<|s|>user\nc<|e|>")
    plain = Chat(tokenizer())
    assert plain.decode_all(plain.extend(plain.encode("1"), [user("low")])) == "<|end|>low"


# --- cases from the field ----------------------------------------------------------------------------------------


def test_c31_pad_equal_to_end_changes_no_mask() -> None:
    made = tokenizer()
    made.pad_token = made.eos_token
    chat = Chat(made)
    messages = [user("a<|end|>b"), assistant("cd")]
    ids, owner = chat.conversation(messages)
    assert chat.decode_all(ids) == "a<|end|>bcd<|end|>"
    assert owner.tolist() == [False, False, False, True, True, True]


def test_c33_several_ends_stop_a_completion() -> None:
    made = tokenizer(CHATML)  # closes turns with <|e|> (3), while the tokenizer's end is <|end|> (1)
    assert Chat(made).turn_end == 3
    assert default_stop_tokens(made) == (1, 3)

    generation = GenerationConfig(eos_token_id=[1, 2])

    assert default_stop_tokens(made, generation) == (1, 2, 3)


def test_c35_two_tool_results_in_a_row_are_one_turn_and_serial_ones_are_two() -> None:
    chat = Chat(tokenizer(TOOLS))
    asked = [user("q"), assistant("", tool_calls=[call(x=1), call(x=2)])]
    parallel = [*asked, tool("r1"), tool("r2"), assistant("done")]
    ids, owner = chat.conversation(parallel)
    text = chat.decode_all(ids)
    assert text == chat.render(parallel)
    assert "<|s|>user\n[r1][r2]<|e|>\n<|s|>assistant\ndone<|e|>" in text
    calls = '<call>{"x": 1}</call><call>{"x": 2}</call><|e|>'
    assert chat.decode_all(ids[owner]) == calls + "done<|e|>"

    sampled = np.concatenate([chat.prompt("q"), chat.encode(calls)])
    more = chat.extend(sampled, [tool("r1"), tool("r2")])
    assert np.concatenate([sampled, more]).tolist() == chat.prompt(parallel[:-1]).tolist()

    serial = [user("q"), assistant("", tool_calls=[call()]), tool("r1"), assistant("", tool_calls=[call()]), tool("r2")]
    assert "[r1]<|e|>" in chat.render(serial)
    assert "[r2]<|e|>" in chat.render(serial)


@pytest.mark.parametrize("test", ["tools is defined", "tools is defined and tools is not none", "tools is not none"])
def test_c37_no_tools_is_an_empty_list_of_tools(test: str) -> None:
    chat = Chat(tokenizer("{% if " + test + " %}<environment>{{ tools | length }}{% endif %}" + CHATML))
    messages = [user("a"), assistant("b")]
    assert chat.prompt("a").tolist() == chat.prompt("a", tools=[]).tolist() == chat.prompt("a", tools=()).tolist()
    assert "environment" not in chat.decode_all(chat.prompt("a"))
    assert chat.conversation(messages)[0].tolist() == chat.conversation(messages, tools=[])[0].tolist()
    assert "environment" not in chat.decode_all(chat.conversation(messages)[0])
    schema = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {}}}
    assert chat.decode_all(chat.prompt("a", tools=[schema])).startswith("<environment>1")


def test_c39_one_begin_and_one_end() -> None:
    conversation = [user("a"), assistant("b")]
    for made in (tokenizer(BOS_TEMPLATE), tokenizer(BOS_TEMPLATE, bos=True), tokenizer(bos=True)):
        chat = Chat(made)
        ids, owner = chat.conversation(conversation)
        assert (ids == 4).sum() == 1
        assert (ids == 1).sum() == 1
        assert chat.decode_all(ids[owner]) == "b<|end|>"
        assert (chat.conformance().begins, chat.conformance().ends) == (1, 1)
    plain = Chat(tokenizer())
    assert plain.decode_all(plain.conversation([user("a"), assistant("b<|end|>")])[0]) == "ab<|end|>"


def test_a_template_that_closes_no_turn_gets_one_end() -> None:
    template = "{% for m in messages %}{% if m.role == 'user' %}Q: {% endif %}{{ m.content }}\n{% endfor %}"
    chat = Chat(tokenizer(template))
    assert chat.turn_end is None
    ids, owner = chat.conversation([user("a"), assistant("b")])
    assert chat.decode_all(ids) == "Q: a\nb\n<|end|>"
    assert chat.decode_all(ids[owner]) == "b<|end|>"


# --- conformance -------------------------------------------------------------------------------------------------


def test_conformance_of_a_good_template() -> None:
    report = Chat(tokenizer(CHATML)).conformance()
    assert report.fit
    assert report.findings == ()
    assert report.parallel_tools == "separate turns"
    assert Chat(tokenizer(TOOLS)).conformance().parallel_tools == "one turn"


def test_conformance_names_what_is_wrong() -> None:
    rewriting = Chat(tokenizer(REWRITING)).conformance()
    assert not rewriting.append_only
    assert not rewriting.fit
    assert "rewrites earlier turns" in rewriting.findings[0]
    forgetful = Chat(tokenizer(FORGETFUL)).conformance()
    assert forgetful.fit
    assert not forgetful.keeps_reasoning
    assert any("reasoning" in finding for finding in forgetful.findings)
    thinking = Chat(tokenizer(CHATML.replace("assistant\n{% endif", "assistant\n<think>\n{% endif"))).conformance()
    assert thinking.opens_think_tag
    assert not Chat(tokenizer(CHATML)).conformance().opens_think_tag
    twice = Chat(tokenizer(BOS_TEMPLATE.replace("<|b|>", "<|b|><|b|>"), bos=True)).conformance()
    assert twice.begins == 2
    assert not twice.fit
    plain = Chat(tokenizer()).conformance()
    assert plain.fit
    assert "No chat template" in plain.findings[0]


def test_no_end_token_is_an_error_that_says_how_to_name_one() -> None:
    made = tokenizer()
    made.eos_token = None
    with pytest.raises(ValueError, match="name one"):
        _ = Chat(made).end
