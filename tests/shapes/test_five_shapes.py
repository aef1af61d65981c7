"""The types carry methods of different shape, and each of them trains: a group, a sequence ratio, pairs from a data
set, a branching tree, and a judge that learns together with the policy."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest
import torch

from guerdon.advantages.group import GroupMean
from guerdon.chat import Chat
from guerdon.engines.local import LocalEngine, Optim
from guerdon.learner import Learner
from guerdon.likelihoods.autoregressive import Autoregressive
from guerdon.losses.policy import PolicyGradient
from guerdon.method import Method, Role, Term
from guerdon.methods.dpo import dpo
from guerdon.methods.grpo import grpo
from guerdon.methods.gspo import gspo
from guerdon.reduce import sequence_sum
from guerdon.rewards.base import PerEpisode
from guerdon.rewards.judge import Judge
from guerdon.rollouts.tree import Branching, path_text
from guerdon.samplers.base import Sampling
from guerdon.samplers.local import LocalSampler
from guerdon.sources import Dataset, Rollouts
from guerdon.types import Episode, Pair, Score, Span, Task
from tests.invariants.world import END, Letters, llama

GOOD = "f"
"""The letter that earns (id 5 in `Letters`)."""


def share_of_good(text: str) -> float:
    return text.count(GOOD) / 4


def tasks(i: int) -> Task:
    return Task(f"t{i}", [1, 3 + i % 5, 4])


def learner_of(method: Method, policy, lr: float = 1e-2, **others) -> Learner:
    engines = {"policy": LocalEngine(policy, Autoregressive(), Optim(lr=lr)), **others}
    return Learner(method, engines, max_gap=1e-3)


def source_of(sampler, rewards, rollout=None, **others) -> Rollouts:
    chat = Chat(Letters(), template=False)
    how = Sampling(max_tokens=4, stop_tokens=(END,))
    return Rollouts(tasks, {"policy": sampler, **others}, chat, how, rewards, batch=4, n=6, rollout=rollout)


def train(source, learner, steps: int) -> list[float]:
    """Mean return of each step."""

    async def go():
        returns = []
        async with source:
            for _ in range(steps):
                data = await source.take(learner.version)
                stats = await learner.update(data.groups)
                await source.publish(learner)
                returns.append(stats["return"].value)
        return returns

    return asyncio.run(go())


def gain(returns: list[float]) -> float:
    third = max(1, len(returns) // 3)
    return float(np.mean(returns[-third:]) - np.mean(returns[:third]))


@pytest.mark.parametrize("method", [grpo(), gspo(clip_low=0.1, clip_high=0.1)], ids=["grpo", "gspo"])
def test_groups_of_completions(method):
    policy = llama()
    reward = PerEpisode("good", lambda episode: share_of_good(episode.reply))
    source = source_of(LocalSampler(policy, Letters()), [reward])
    assert gain(train(source, learner_of(method, policy), 12)) > 0.2


def test_pairs_from_a_data_set():
    policy, reference = llama(), llama()
    learner = learner_of(dpo(beta=0.5), policy, ref=LocalEngine(reference.requires_grad_(False), Autoregressive()))

    def said(i: int, *tokens: int) -> Episode:
        return Episode(tasks(i), [Span(np.array(tasks(i).prompt)), Span(np.array(tokens), np.zeros(len(tokens)), 0)])

    pairs = [Pair(said(i, 5, 5, END), said(i, 6, 7, END)).group() for i in range(6)]
    source = Dataset(pairs, batch=3)

    async def go():
        for _ in range(8):
            await learner.update((await source.take(learner.version)).groups)
        return learner.last["policy"]

    batch = asyncio.run(go())
    margin = learner.engines["policy"].forward(batch, ("logp",))["logp"] - batch.extra["ref"]
    by_path = torch.zeros(int(batch.seq.max()) + 1).index_add(0, batch.seq, margin)
    returns = torch.zeros_like(by_path).index_add(0, batch.seq, batch.reward)
    assert (by_path[returns > 0].mean() - by_path[returns < 0].mean()) > 1.0


def test_a_branching_tree_with_its_own_return_on_every_path():
    policy = llama()

    async def score_paths(group, context):
        scores = []
        for episode in group:
            leaves = {path[-1]: share_of_good(path_text(episode, path)) for path in episode.paths()}
            scores.append(Score(spans=leaves))
        return scores

    score_paths.name, score_paths.weight = "paths", 1.0
    source = source_of(LocalSampler(policy, Letters()), [score_paths], Branching(trunk_tokens=2, trunks=2, branches=3))
    method = Method(terms=(Term(PolicyGradient(), sequence_sum),), estimator=GroupMean())
    assert gain(train(source, learner_of(method, policy), 14)) > 0.2


@pytest.mark.parametrize("shares", [None, "policy"], ids=["own weights", "the policy's weights"])
def test_a_judge_that_learns_together_with_the_policy(shares):
    policy, own = llama(), llama(seed=1)
    judged = Role(shares=shares, estimator=GroupMean(), terms=(Term(PolicyGradient(), sequence_sum, name="judge"),))
    method = replace(grpo(), roles={"judge": judged})

    def read(said: Episode) -> float | None:
        return {"d": 1.0, "e": 0.0}.get(said.reply[:1])

    def check(about: Episode, value: float | None) -> float:
        truth = float(share_of_good(about.reply) > 0.25)
        return 0.0 if value is None else 0.5 + 0.5 * float(value == truth)

    judge = Judge(lambda e: [1, 12, *(e.spans[-1].tokens.tolist()[:2]), 13], read, check, votes=4, max_tokens=1)
    gold = PerEpisode("good", lambda episode: share_of_good(episode.reply))
    sampler = LocalSampler(policy, Letters())
    others = {"judge": sampler if shares else LocalSampler(own, Letters())}
    engines = {} if shares else {"judge": LocalEngine(own, Autoregressive(), Optim(lr=1e-2))}
    learner = learner_of(method, policy, **engines)
    source = source_of(sampler, [gold, replace(judge, weight=0.1)], **others)
    checks: list[float] = []

    async def go():
        async with source:
            for _ in range(30):
                data = await source.take(learner.version)
                stats = await learner.update(data.groups)
                await source.publish(learner)
                checks.append(stats["judge/return"].value)
                yield stats["return"].value

    async def collect():
        return [value async for value in go()]

    returns = asyncio.run(collect())
    assert gain(returns) > 0.2
    assert gain(checks) > 0.2
