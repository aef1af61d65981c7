"""Replies in steps as episodes: which token a label stands on."""

from __future__ import annotations

import pytest

from guerdon.chat import Chat
from guerdon.collate import collate
from guerdon.data.episodes import dialogue, written
from guerdon.data.steps import in_steps, split_steps
from guerdon.models.load import load_policy


@pytest.fixture(scope="module")
def chat() -> Chat:
    return Chat(load_policy("tiny").tokenizer)


def test_a_label_stands_on_the_last_token_of_its_step_and_nowhere_else(chat):
    episode = in_steps("t", "1+2+3=", ["1+2=3", "3+3=7"], chat, [1.0, 0.0], separator=";")
    batch = collate([[episode]])
    ids = batch.inputs["tokens"].tolist()
    assert chat.decode_all(ids) == "1+2+3=1+2=3;3+3=7<|end|>"
    assert [chat.decode_all([ids[i]]) for i in batch.mask.nonzero().squeeze(1)] == [";", "<|end|>"]
    assert batch.extra["label"][batch.mask].tolist() == [1.0, 0.0]
    assert ids.count(chat.end) == 1


def test_one_step_is_read_where_a_whole_reply_is(chat):
    one = collate([[in_steps("t", "1+2=", ["3"], chat, [1.0])]])
    whole = collate([[written("t", dialogue("1+2=", "3", chat), chat)]])
    assert one.inputs["tokens"].tolist() == whole.inputs["tokens"].tolist()
    assert int(one.mask.nonzero().max()) == int(whole.mask.nonzero().max())
    assert int(one.mask.sum()) == 1


def test_no_step_is_refused(chat):
    with pytest.raises(ValueError, match="no step"):
        in_steps("t", "1+2=", [], chat)


@pytest.mark.parametrize(
    ("reply", "steps"),
    [
        ("a\nbc", [("a", 1), ("bc", 4)]),
        ("a\n\nb\n", [("a", 1), ("b", 4)]),
        ("one", [("one", 3)]),
        ("", [("", 0)]),
        (" \n ", [("", 3)]),
    ],
)
def test_a_reply_is_cut_where_its_steps_end(reply, steps):
    assert split_steps(reply) == steps
    for text, end in split_steps(reply):
        assert reply[:end].endswith(text)


def test_an_empty_separator_is_refused():
    with pytest.raises(ValueError, match="separator"):
        split_steps("a", "")
