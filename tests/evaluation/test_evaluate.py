"""Evaluation of tasks that cannot be put to the policy."""

import asyncio

import pytest

from guerdon.chat import Chat
from guerdon.evaluation.evaluate import evaluate
from guerdon.rewards.base import PerEpisode
from guerdon.samplers.base import Sampling
from guerdon.samplers.local import LocalSampler
from guerdon.types import Task
from tests.invariants.world import Letters, llama


def test_a_prompt_that_leaves_nothing_to_sample_is_named_by_its_task():
    tasks = [Task("short", [1, 2]), Task("long", [3] * 64)]
    sampler, chat = LocalSampler(llama(), Letters()), Chat(Letters(), template=False)
    with pytest.raises(ValueError, match="held-out task long: the prompt has 64 tokens"):
        asyncio.run(evaluate(tasks, PerEpisode("r", lambda e: 1.0), {"policy": sampler}, chat, Sampling(max_tokens=2)))
