"""Format checks on replies as chat templates really start them, and on replies that try to get around them."""

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest

from guerdon.chat import Chat
from guerdon.rewards.form import MatchesPattern, TagFormat, ThinkFormat
from guerdon.rewards.worth import Worth
from guerdon.types import Episode, Span, Task
from tests.replies import group, scores
from tests.rewards.turns import CLOSING, OPENING, episode
from tests.test_chat import CHATML, tokenizer


def verdict(reward, chat, *args, **kwargs):
    (score,) = asyncio.run(reward([episode(chat, *args, **kwargs)], SimpleNamespace(chat=chat)))
    assert score.value == (1.0 if score.verdict.status == "right" else 0.0)
    return score.verdict


def status(reward, chat, *args, **kwargs):
    return verdict(reward, chat, *args, **kwargs).status


PLAIN = Chat(tokenizer(CHATML))

WHOLE = [
    ("<think>a</think>b", "right"),
    ("\n<think>\na\n</think>\n\nb\n", "right"),
    ("a</think>b", "wrong"),
    ("b", "wrong"),
    ("<think>a", "wrong"),
    ("<think>a</think>", "wrong"),
    ("<think>a</think> \n", "wrong"),
    ("<think></think>b", "wrong"),
    ("<think> </think>b", "wrong"),
    ("so <think>a</think>b", "wrong"),
    ("<think>a</think>b<think>c</think>d", "wrong"),
    ("<think><think>a</think>b", "wrong"),
    ("<think>a</think></think>b", "wrong"),
    ("</think>a<think>b", "wrong"),
    ("", "no_answer"),
]


@pytest.mark.parametrize(("reply", "found"), WHOLE)
def test_think_format_where_the_reply_writes_both_tags(reply, found):
    assert status(ThinkFormat(), PLAIN, reply) == found


@pytest.mark.parametrize(("reply", "found"), WHOLE)
def test_without_a_chat_the_message_is_read_as_it_is(reply, found):
    assert scores(ThinkFormat(), group([reply]))[0].verdict.status == found


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("a</think>b", "right"),
        ("a\n</think>\n\nb", "right"),
        ("<think>a</think>b", "wrong"),
        ("a", "wrong"),
        ("</think>b", "wrong"),
        ("a</think>", "wrong"),
        ("a</think>b</think>c", "wrong"),
        ("", "no_answer"),
    ],
)
def test_think_format_where_the_template_opens_the_tag(reply, found):
    chat = Chat(tokenizer(OPENING))
    assert chat.conformance().opens_think_tag
    assert status(ThinkFormat(), chat, reply) == found


@pytest.mark.parametrize(("reply", "found"), [("b", "right"), ("a</think>b", "wrong"), ("<think>a</think>b", "wrong")])
def test_think_format_where_the_template_closes_the_block_too(reply, found):
    assert status(ThinkFormat(), Chat(tokenizer(CLOSING)), reply) == found


@pytest.mark.parametrize("question", ["begin with <think>", "write <think></think>", "use </think>", "<think>"])
def test_a_question_about_tags_opens_none(question):
    assert status(ThinkFormat(), PLAIN, "<think>a</think>b", task=Task("t", question)) == "right"
    assert status(ThinkFormat(), PLAIN, "a</think>b", task=Task("t", question)) == "wrong"


def test_a_plain_prompt_opens_what_it_ends_with_and_closes_nothing():
    chat = Chat(tokenizer())
    assert status(ThinkFormat(), chat, "a</think>b", task=Task("t", "User: q\nAssistant: <think>\n")) == "right"
    assert status(ThinkFormat(), chat, "<think>a</think>b", task=Task("t", "reason in <think></think>")) == "right"


def test_a_forced_prefix_is_a_part_of_the_reply():
    assert status(ThinkFormat(), PLAIN, "a</think>b", prefix="<think>") == "right"
    assert status(ThinkFormat(), PLAIN, "a</think>b", prefix="<think>\nLet me see: ") == "right"
    assert status(ThinkFormat(), PLAIN, "<think>a</think>b", prefix="<think>") == "wrong"
    assert status(ThinkFormat(), Chat(tokenizer(OPENING)), "a</think>b", prefix="Let me see: ") == "right"


def test_a_reply_sampled_under_several_versions_is_one_reply():
    assert status(ThinkFormat(), PLAIN, "<think>a</think>b", versions=3) == "right"


def test_the_last_reply_of_several_is_read_and_what_was_put_before_it():
    chat = Chat(tokenizer(OPENING))
    first = episode(chat, "x</think>y")
    after = Span(chat.encode("<|s|>user\nmore<|e|>\n<|s|>assistant\n<think>\n"), parent=len(first.spans) - 1)
    ids = chat.encode("a</think>b")
    reply = Span(
        ids, -np.ones(len(ids)), parent=len(first.spans), message={"role": "assistant", "content": "a</think>b"}
    )
    both = Episode(first.task, [*first.spans, after, reply])
    (score,) = asyncio.run(ThinkFormat()([both], SimpleNamespace(chat=chat)))
    assert score.verdict.status == "right"


def test_tags_that_are_special_tokens_are_seen():
    made = tokenizer(CHATML)
    made.add_special_tokens({"additional_special_tokens": ["<think>", "</think>", "<|s|>", "<|e|>"]})
    chat = Chat(made)
    marked = episode(chat, "<think>a</think>b")
    marked.spans[-1].message = {"role": "assistant", "content": "ab"}
    assert chat.decode(marked.spans[-1].tokens) == "ab"
    (score,) = asyncio.run(ThinkFormat()([marked], SimpleNamespace(chat=chat)))
    assert score.verdict.status == "right"


def test_a_stop_string_that_cut_the_closing_tag_off_the_text_takes_nothing_from_the_form():
    cut = episode(PLAIN, "<think>a</think><answer>b</answer>")
    cut.spans[-1].message = {"role": "assistant", "content": "<think>a</think><answer>b"}
    (score,) = asyncio.run(TagFormat()([cut], SimpleNamespace(chat=PLAIN)))
    assert score.verdict.status == "right"


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("<think>a</think><answer>b</answer>", "right"),
        (" <think>\na</think>\n<answer>b</answer>\n", "right"),
        ("<think>a</think>so <answer>b</answer>", "wrong"),
        ("<think>a</think><answer>b</answer> done", "wrong"),
        ("<answer>b</answer><think>a</think>", "wrong"),
        ("<think>a<answer>b</answer></think>", "wrong"),
        ("<think>a</think><answer></answer>", "wrong"),
        ("<think>a</think>b", "wrong"),
        ("<think>a</think><answer>b</answer><answer>c</answer>", "wrong"),
    ],
)
def test_tag_format(reply, found):
    assert status(TagFormat(), PLAIN, reply) == found


def test_tag_format_with_other_tags_and_an_open_one():
    assert (
        status(TagFormat(tags=("plan", "code", "test")), PLAIN, "<plan>a</plan><code>b</code><test>c</test>") == "right"
    )
    assert status(TagFormat(), Chat(tokenizer(OPENING)), "a</think><answer>b</answer>") == "right"
    assert status(TagFormat(), Chat(tokenizer(CLOSING)), "<answer>b</answer>") == "right"


@pytest.mark.parametrize("tags", [(), ("a", "a"), ("<think>",), ("",)])
def test_tags_have_to_be_names(tags):
    with pytest.raises(ValueError, match="expected one or more different names"):
        TagFormat(tags=tags)


def test_reasons_say_what_was_found_and_what_the_prompt_wrote():
    opened = verdict(ThinkFormat(), Chat(tokenizer(OPENING)), "<think>a</think>b")
    assert opened.reason == (
        "its tags are <think> <think> </think> (the prompt wrote <think>), expected <think> </think>"
    )
    assert verdict(ThinkFormat(), PLAIN, "b").reason == "its tags are none, expected <think> </think>"
    assert verdict(ThinkFormat(), PLAIN, "x<think>a</think>b").reason == "text before <think>"
    assert verdict(ThinkFormat(), PLAIN, "<think>a</think>").reason == "no answer after </think>"
    assert verdict(TagFormat(), PLAIN, "<think> </think><answer>b</answer>").reason == "<think> is empty"
    assert len(verdict(ThinkFormat(), PLAIN, "<think>" * 1000).reason) < 200


@pytest.mark.parametrize("reward", [ThinkFormat(), TagFormat(), MatchesPattern("never")])
def test_a_reply_that_was_cut_off_is_said_to_be(reward):
    found = verdict(reward, PLAIN, "<think>a", stop="length")
    assert found.status == "wrong"
    assert found.reason.endswith("; the reply was cut off at its token limit")
    assert "cut off" not in verdict(reward, PLAIN, "<think>a").reason


def test_a_reply_that_was_cut_off_in_its_answer_has_its_form():
    found = verdict(ThinkFormat(), PLAIN, "<think>a</think>b", stop="length")
    assert (found.status, found.reason) == ("right", "well formed; the reply was cut off at its token limit")


@pytest.mark.parametrize(
    ("pattern", "reply", "found"),
    [
        (r"\d{3}", "it is 123", "right"),
        (r"^\d{3}$", "it is 123", "wrong"),
        (r"^\d{3}$", "123", "right"),
        (r"(?s)a.*b", "a\nb", "right"),
        (r"a.*b", "a\nb", "wrong"),
        (r"", "", "no_answer"),
    ],
)
def test_patterns(pattern, reply, found):
    assert status(MatchesPattern(pattern), PLAIN, reply) == found
    assert scores(MatchesPattern(pattern), group([reply]))[0].verdict.status == found


def test_long_replies_are_not_searched():
    found = scores(MatchesPattern("a", max_chars=10), group(["a" * 11, "a" * 10]))
    assert [score.verdict.status for score in found] == ["cannot_tell", "right"]
    assert "11 characters" in found[0].verdict.reason


def test_a_pattern_that_takes_for_ever_is_stopped():
    reward = MatchesPattern("(a+)+b", timeout=0.3, worth=Worth(timed_out=-1.0))
    found = scores(reward, group(["a" * 40, "ab"]))
    assert [(s.verdict.status, s.value) for s in found] == [("timed_out", -1.0), ("right", 1.0)]


def test_a_broken_pattern_is_refused():
    with pytest.raises(ValueError, match="no regular expression"):
        MatchesPattern("(a")


def test_worth_and_weight_are_settings():
    reward = ThinkFormat(weight=0.2, worth=Worth(right=0.0, wrong=-1.0, no_answer=-1.0))
    assert reward.weight == 0.2
    assert [score.value for score in scores(reward, group(["<think>a</think>b", "b", ""]))] == [0.0, -1.0, -1.0]


def test_an_episode_in_which_nothing_was_sampled_has_no_reply():
    (score,) = asyncio.run(ThinkFormat()([Episode(Task("t", "q"), [Span(np.arange(3))])], SimpleNamespace(chat=PLAIN)))
    assert score.verdict.status == "no_answer"


@pytest.mark.parametrize("piece", ["<think>", "</think>", "a", "<", "\n"])
def test_long_replies_are_read_in_linear_time(piece):
    reply = (piece * 100_000)[:100_000]
    assert scores(ThinkFormat(), group([reply]))[0].verdict.status in ("wrong", "no_answer")
