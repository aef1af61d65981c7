"""What a method's gradient is on average, and how far single batches are from it, beside the exact one."""

from __future__ import annotations

import asyncio
from typing import Any

import torch
from torch import Tensor

from guerdon.collate import collate
from guerdon.method import Method
from guerdon.testbeds.arm import Budget, Parts, assemble
from guerdon.testbeds.base import Testbed
from guerdon.testbeds.exact import oracle_of


def gradient_figures(
    method: Method, testbed: Testbed, seed: int, batches: int, prompts: int = 16, samples: int = 8, **settings: Any
) -> dict[str, float]:
    """`squared_bias` and `spread` of a method's gradient at the initial policy of a seed, in units of the exact one.

    The best multiple of the exact gradient of the mean truth is what a method is given credit for: the squared bias is
    the squared distance of its mean from that, less what is to be expected of so many batches, so that it is right on
    average and may come out below 0; the spread is the distance of one batch from the mean (root of the mean square).
    settings: as in `assemble`.
    """
    parts = assemble(method, testbed, seed, Budget(1 << 40, prompts, samples), **settings)
    drawn = -asyncio.run(_gradients(parts, batches)).double()  # [B, D], upwards
    exact = oracle_of(testbed).gradient(parts.start)
    up = torch.cat([exact[name].reshape(-1) for name, _ in parts.start.named_parameters()]).double()
    mean = drawn.mean(0)
    fit = (mean @ up) / (up @ up) * up
    noise = drawn.var(0).sum()
    apart = (mean - fit).square().sum() - noise / batches
    return {"squared_bias": float(apart / (fit @ fit)), "spread": float((noise / (fit @ fit)).sqrt())}


async def _gradients(parts: Parts, batches: int) -> Tensor:
    """The gradient of the first step on each of so many batches, the weights staying as they are. [batches, D]"""
    found = []
    async with parts.source as source:
        for _ in range(batches):
            data = await source.take(0)
            batch = parts.learner.prepare("policy", collate(data.groups, parts.learner.weights))
            parts.engine.forward_backward(batch, parts.learner.method.terms)
            found.append(_flat(parts))
            await source.publish(parts.learner)
    return torch.stack(found)


def _flat(parts: Parts) -> Tensor:
    """The gradient of all weights, taken away."""
    weights = list(parts.engine.module.parameters())
    flat = torch.cat([(torch.zeros_like(w) if w.grad is None else w.grad).reshape(-1) for w in weights])
    parts.engine.module.zero_grad(set_to_none=True)
    return flat
