"""What the policy wrote, and what follows its reasoning, wherever that was opened."""

import asyncio
from types import SimpleNamespace

import pytest

from guerdon.chat import Chat
from guerdon.rewards.overlap import ChrF
from guerdon.rewards.verify.instructions import Instructions
from guerdon.rewards.written import Written, after_thought, reply_of, written_in
from guerdon.types import Task
from tests.rewards.turns import CLOSING, OPENING, episode
from tests.test_chat import CHATML, tokenizer

PLAIN, OPEN, CLOSED = (Chat(tokenizer(template)) for template in (CHATML, OPENING, CLOSING))


@pytest.mark.parametrize(
    ("reply", "rest"),
    [
        ("plain", "plain"),
        ("<think>a, b</think>\nc", "\nc"),
        ("thought</think>c", "c"),
        ("<think>never closed", ""),
        ("x</think>y</think>z", "z"),
        ("the tag <think> is a tag", "the tag <think> is a tag"),
    ],
)
def test_after_thought(reply, rest):
    assert after_thought(reply) == rest


def test_the_last_reply_with_what_was_given_of_it():
    assert written_in(episode(PLAIN, "a</think>b"), PLAIN, ("think",)) == Written("", "a</think>b")
    assert written_in(episode(OPEN, "a</think>b"), OPEN, ("think",)) == Written("<think>\n", "a</think>b")
    assert written_in(episode(OPEN, "b", prefix="a "), OPEN, ("think",)) == Written("<think>\na ", "b")
    assert written_in(episode(OPEN, "b"), OPEN) == Written("", "b")


@pytest.mark.parametrize(
    ("chat", "reply", "prefix", "rest"),
    [
        (PLAIN, "a", "", "a"),
        (PLAIN, "<think>a", "", ""),
        (PLAIN, "a", "<think>", ""),
        (PLAIN, "a</think>b", "<think>", "b"),
        (OPEN, "a", "", ""),
        (OPEN, "a</think>b", "", "b"),
        (OPEN, "a", "so ", ""),
        (CLOSED, "a", "", "a"),
    ],
)
def test_what_a_template_opened_is_reasoning_until_the_reply_closes_it(chat, reply, prefix, rest):
    said = episode(chat, reply, prefix=prefix)
    assert after_thought(reply_of(said, SimpleNamespace(chat=chat))) == rest


def test_without_a_context_the_reply_is_what_it_is():
    assert reply_of(episode(OPEN, "a"), None) == "a"


@pytest.mark.parametrize("reward", [Instructions(), ChrF()])
def test_reasoning_cut_off_in_a_block_that_the_template_opened_is_no_answer(reward):
    task = Task("t", "q", {"constraints": [{"kind": "no_comma"}], "answer": "fine"})
    context = SimpleNamespace(chat=OPEN)
    group = [episode(OPEN, "fine", task, stop="length"), episode(OPEN, "well, </think>fine", task)]
    cut, whole = asyncio.run(reward(group, context))
    assert (cut.value, cut.verdict.status, whole.value) == (0.0, "no_answer", 1.0)
