"""Trees of completions: how much is sampled along each path."""

import asyncio

import numpy as np

from guerdon.chat import Chat
from guerdon.rollouts.base import Context
from guerdon.rollouts.tree import Branching
from guerdon.samplers.base import Sampling
from guerdon.samplers.local import LocalSampler
from guerdon.types import Task
from tests.invariants.world import Letters, llama


def grow(how: Sampling, trunk_tokens: int):
    context = Context({"policy": LocalSampler(llama(), Letters())}, Chat(Letters(), template=False), how, 4, seed=0)
    return asyncio.run(Branching(trunk_tokens, trunks=2, branches=3)(Task("t", [1, 7, 8]), context))


def test_a_forced_prefix_is_not_counted_in_what_may_be_sampled():
    for episode in grow(Sampling(max_tokens=8, prefix=(9, 10, 11, 12)), trunk_tokens=4):
        paths = [[episode.spans[i] for i in path] for path in episode.paths()]
        assert len(paths) == 3
        for path in paths:
            assert sum(len(span.tokens) for span in path if span.sampled) == 8
            said = np.concatenate([span.tokens for span in path])
            assert said[3:7].tolist() == [9, 10, 11, 12]
