"""Decoding under a protocol: what is kept, and that models meet the same random numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from guerdon.chat import Chat
from guerdon.evaluation.protocol.base import Evaluated, protocol_of
from guerdon.evaluation.protocol.collect import collect
from guerdon.rewards.verify.text import ExactMatch
from guerdon.samplers.base import Sample, Sampling
from guerdon.types import Span, Task
from tests.test_chat import tokenizer

TASKS = [Task("sum", "1+1=", {"answer": "2"}), Task("odd", "1+?=", {"answer": "2", "answerable": False})]
PROTOCOL = protocol_of("sums", TASKS, ExactMatch(), Sampling(4), decodes=3)
SAID = ["2", "?", ""]


class Speaker:
    """Says one thing after another, and keeps the seeds it was given."""

    version = 0

    def __init__(self) -> None:
        self.seeds: list[int] = []

    async def sample(self, prompt: Sequence[int], how: Sampling, seeds: Sequence[int]) -> list[Sample]:
        assert how.entropy
        assert how.stop_tokens == (7,)
        self.seeds += seeds
        spans = [
            Span(
                np.array([1, 2]),
                np.zeros(2),
                message={"role": "assistant", "content": text},
                extra={"entropy": np.array([0.2, 0.4])},
            )
            for text in SAID
        ]
        return [
            Sample([span], "length" if text == "" else "stop", text) for span, text in zip(spans, SAID, strict=True)
        ]

    def load(self, weights: object, version: int) -> None:
        raise AssertionError("an evaluation loads nothing")


def collected(speaker: Speaker) -> Evaluated:
    return asyncio.run(collect(PROTOCOL, TASKS, ExactMatch(), {"policy": speaker}, Chat(tokenizer()), (7,)))


def test_each_decode_is_kept():
    speaker = Speaker()
    found = collected(speaker)
    assert [(one.item, one.number) for one in found.decodes] == [(t.id, i) for t in TASKS for i in range(3)]
    right, declined, nothing = found.decodes[:3]
    assert (right.right, right.answer, right.status, right.tokens) == (True, "2", "right", 2)
    assert right.entropy == pytest.approx(0.3)
    assert (declined.refused, declined.attempted, declined.answerable) == (True, False, True)
    assert (nothing.answer, nothing.attempted, nothing.status) == (None, False, "no_answer")
    assert nothing.truncated
    assert not found.decodes[3].answerable
    assert [one.seed for one in found.decodes] == speaker.seeds
    assert len(set(speaker.seeds)) == 6


def test_another_model_meets_the_same_seeds():
    first, second = Speaker(), Speaker()
    assert collected(first) == collected(second)
    assert first.seeds == second.seeds


def test_other_tasks_are_refused():
    other = [replace(TASKS[0], prompt="1+2="), TASKS[1]]
    with pytest.raises(ValueError, match="not those of the protocol"):
        asyncio.run(collect(PROTOCOL, other, ExactMatch(), {}, Chat(tokenizer())))
