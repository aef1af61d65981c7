"""guerdon put together for a bench: a sampler, an engine, a learner and a source, and the steps they take."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from guerdon.chat import Chat
from guerdon.engines.local import LocalEngine, Optim
from guerdon.learner import Learner
from guerdon.likelihoods.autoregressive import Autoregressive
from guerdon.methods.grpo import grpo
from guerdon.rewards.base import PerEpisode
from guerdon.rollouts.base import Context
from guerdon.rollouts.single import episode_of
from guerdon.samplers.base import Sampling
from guerdon.samplers.local import LocalSampler
from guerdon.sources import Rollouts as Source
from guerdon.types import Episode, Group, Span, Task
from speed.workloads import Rollouts, lengths, prompts, score

LR = 1e-6


@dataclass
class Ours:
    """The parts, and what the latest step came to."""

    sampler: LocalSampler
    engine: LocalEngine
    learner: Learner
    source: Source


@dataclass(frozen=True)
class Step:
    """Seconds of sampling and of all that came after it; tokens sampled, trained on, and of distinct prompts."""

    sample: float
    learn: float
    tokens: int
    trained: int
    prompt_tokens: int


def put_together(module: Any, tokenizer: Any, draw: Callable[[int], Task], work: Rollouts, lr: float = LR) -> Ours:
    """GRPO on the tasks that `draw` gives, in the sizes of the workload."""
    sampler = LocalSampler(module, tokenizer, slots=work.prompts * work.group)
    engine = LocalEngine(module, Autoregressive(), Optim(lr=lr))
    source = Source(
        tasks=draw,
        samplers={"policy": sampler},
        chat=Chat(tokenizer),
        how=Sampling(max_tokens=work.length),
        rewards=[PerEpisode("score", scored)],
        batch=work.prompts,
        n=work.group,
        rollout=of_given_lengths if work.mean_length else None,
    )
    return Ours(sampler, engine, Learner(grpo(), {"policy": engine}), source)


def scored(episode: Episode) -> float:
    return score(episode.reply)


def tasks(work: Rollouts) -> Callable[[int], Task]:
    """The workload's prompts in order, with the lengths of their completions."""

    def draw(i: int) -> Task:
        step, place = divmod(i, work.prompts)
        return Task(str(i), prompts(work, step)[place], {"lengths": lengths(work, step)[place]})

    return draw


async def of_given_lengths(task: Task, context: Context) -> Group:
    """Completions of exactly `task.data['lengths']` tokens: a request each, since a request has one length."""
    prompt = context.chat.prompt(task.prompt)
    sampler = context.samplers["policy"]
    draws = [
        sampler.sample(prompt, context.how.but(max_tokens=length), [seed])
        for length, seed in zip(task.data["lengths"], context.seeds(context.n), strict=True)
    ]
    return [episode_of(task, Span(prompt), sample) for (sample,) in await asyncio.gather(*draws)]


async def take_step(ours: Ours) -> Step:
    """Sample, learn, publish."""
    trained = ours.engine.trained_tokens
    begin = time.perf_counter()
    data = await ours.source.take(ours.learner.version)
    sampled = time.perf_counter()
    if data.faults:
        raise RuntimeError(f"a rollout failed: {data.faults[0]}")
    await ours.learner.update(data.groups)
    await ours.source.publish(ours.learner)
    done = time.perf_counter()
    tokens = sum(episode.sampled_tokens for group in data.groups for episode in group)
    asked = sum(len(group[0].spans[0].tokens) for group in data.groups)
    return Step(sampled - begin, done - sampled, tokens, ours.engine.trained_tokens - trained, asked)
