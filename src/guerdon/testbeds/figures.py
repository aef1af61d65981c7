"""Figures of a policy on a testbed: exact where replies can be listed, else from samples.

`truth`: mean worth of a reply. `right`: share of right replies. `entropy`: of whole replies, in nats. `length`: in
symbols, the end included. `pass@k`, `max@k`: chance of a right one among k replies, expected worth of the best of k.
`distinct@k`: how many different right replies k hold. `modes`: exp of the entropy of right replies among themselves,
over tasks that have one: 1 for one way, m for m ways equally often, 0 where no task has any. `greedy`: share right at
temperature 0. And the testbed's traits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from math import comb

import torch
from torch import Tensor

from guerdon.evaluation.evaluate import evaluate
from guerdon.evaluation.pass_at_k import pass_at_k
from guerdon.samplers.base import Sampling
from guerdon.testbeds.base import Testbed
from guerdon.testbeds.exact import Oracle
from guerdon.testbeds.model import Model
from guerdon.testbeds.sampler import StepSampler
from guerdon.types import Episode, Group

KS = (8, 32)
"""The k of pass@k and of its like."""


@torch.no_grad()
def exact(oracle: Oracle, model: Model, ks: Sequence[int] = KS) -> dict[str, float]:
    """Figures of a policy with no sample drawn."""
    logp = oracle.logp(model)
    p, right, truth = logp.exp(), oracle.right, oracle.truth
    found = {
        "truth": float((p * truth).sum(1).mean()),
        "right": float((p * right).sum(1).mean()),
        "entropy": float(-(p * logp.clamp(min=-1e4)).sum(1).mean()),
        "length": float((p * oracle.replies.mask.sum(1)).sum(1).mean()),
        "modes": float(_modes(p * right)),
    }
    order = truth.argsort(1)
    below = p.gather(1, order).cumsum(1).clamp(max=1)
    for k in ks:
        found[f"pass@{k}"] = float((1 - (1 - (p * right).sum(1)).clamp(min=0) ** k).mean())
        found[f"distinct@{k}"] = float(torch.where(right, 1 - (1 - p).clamp(min=0) ** k, 0.0).sum(1).mean())
        chance = torch.diff(below**k, dim=1, prepend=torch.zeros_like(p[:, :1]))  # that the best of k is this one
        found[f"max@{k}"] = float((truth.gather(1, order) * chance).sum(1).mean())
    for name, values in oracle.traits.items():
        found[name] = float(torch.nanmean((p * values).sum(1)))
    return found


def _modes(p: Tensor) -> Tensor:
    """exp of the entropy of each row brought to sum 1, averaged over rows with any mass. [P, S] -> []"""
    mass = p.sum(1)
    rows = p[mass > 0] / mass[mass > 0, None]
    return torch.special.entr(rows).sum(1).exp().mean() if len(rows) else torch.zeros(())


async def sampled(
    testbed: Testbed, model: Model, samples: int = 16, ks: Sequence[int] = KS, greedy: bool = True
) -> dict[str, float]:
    """Figures from `samples` replies to each task; of the k those that are at most `samples`."""
    ks = [k for k in ks if k <= samples]
    groups = await _groups(testbed, model, testbed.how, samples)
    worth = [[episode.scores["truth"].total() for episode in group] for group in groups]
    right = [[value >= 0.5 for value in values] for values in worth]
    found = {
        "truth": _average([_average(each) for each in worth]),
        "right": _average([_average(each) for each in right]),
        "entropy": _average([_average([_surprise(episode) for episode in group]) for group in groups]),
        "length": _average([_average([episode.sampled_tokens for episode in group]) for group in groups]),
    }
    ways = [Counter(e.reply for e, fine in zip(*both, strict=True) if fine) for both in zip(groups, right, strict=True)]
    found["modes"] = _average([_effective(one) for one in ways if one]) if any(ways) else 0.0
    for k in ks:
        found[f"pass@{k}"] = _average([pass_at_k(samples, sum(each), k) for each in right])
        found[f"max@{k}"] = _average([max_at_k(each, k) for each in worth])
        found[f"distinct@{k}"] = _average([sum(pass_at_k(samples, c, k) for c in each.values()) for each in ways])
    for name, trait in testbed.traits.items():
        given = [[trait(episode.task, episode.reply) for episode in group] for group in groups]
        found[name] = _average([_average(one) for row in given if (one := [v for v in row if v is not None])])
    if greedy:
        best = await _groups(testbed, model, testbed.how.but(temperature=0.0), 1)
        found["greedy"] = _average([group[0].scores["truth"].total() >= 0.5 for group in best])
    return found


async def _groups(testbed: Testbed, model: Model, how: Sampling, samples: int) -> list[Group]:
    samplers = {"policy": StepSampler(model)}
    return (await evaluate(testbed.measured, testbed.reward, samplers, testbed.chat, how, samples)).groups


def max_at_k(values: Sequence[float], k: int) -> float:
    """Unbiased estimate of the expected best of k from n >= k values: the mean of the best over all k-subsets."""
    n = len(values)
    return sum(comb(place, k - 1) * value for place, value in enumerate(sorted(values))) / comb(n, k)


def _surprise(episode: Episode) -> float:
    return -sum(float(span.logprobs.sum()) for span in episode.spans if span.logprobs is not None)


def _effective(counts: Counter[str]) -> float:
    total = counts.total()
    return math.exp(-sum(c / total * math.log(c / total) for c in counts.values()))


def _average(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan
