"""Logged replies beside samples: what they carry, and what is said where one is missing."""

import asyncio

import pytest

from guerdon.chat import Chat
from guerdon.collate import collate
from guerdon.rollouts.base import Context
from guerdon.rollouts.logged import beside_logged
from guerdon.samplers.base import Sampling
from guerdon.samplers.local import LocalSampler
from guerdon.types import Task
from tests.models.small import model, tokenizer


def roll(data, temperature=0.7):
    words = tokenizer()
    chat = Chat(words)
    sampler = LocalSampler(model("llama"), words, slots=4)
    how = Sampling(max_tokens=4, temperature=temperature, stop_tokens=(chat.end,))
    context = Context({"policy": sampler}, chat, how, 3, seed=0)
    return asyncio.run(beside_logged(Task("t", "1+2=", data), context))


def test_logged_replies_come_first_with_the_temperature_of_the_samples():
    group = roll({"chosen": "3", "rejected": "4"})
    assert [one.notes.get("logged") for one in group] == ["chosen", "rejected", None, None, None]
    assert [one.reply for one in group[:2]] == ["3", "4"]
    assert all(one.task.id == "t" and not one.scores for one in group)
    batch = collate([group])
    assert batch.stream("temperature")[batch.mask].tolist() == pytest.approx([0.7] * int(batch.mask.sum()))
    logged = batch.stream("logged") > 0
    assert set(batch.seq[logged].tolist()) == {0, 1}
    assert not (logged & ~batch.mask).any()
    assert len(set(batch.span[~batch.mask].tolist())) == 1, "the prompt is one span, computed once"


def test_a_missing_reply_is_named():
    with pytest.raises(KeyError, match=r"task t has no 'rejected' reply.*chosen"):
        roll({"chosen": "3"})
