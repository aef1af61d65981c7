"""How the time of a step grows with prompts, group, prompt length, completion length, width and depth.

A random Llama over characters; one size is varied at a time. Per dimension all points take steps in turn. The power
with which each part grows stands beside the power by counting (`speed.flops`).
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from transformers import LlamaForCausalLM

from guerdon.rollouts.base import derive
from guerdon.types import Task
from speed.flops import Shape, learning, sampling
from speed.folders import characters, llama
from speed.job import Job, found, tell
from speed.ours import Ours, put_together, take_step
from speed.summary import slope
from speed.workloads import RANDOM, Rollouts

STEEP = 1.1


@dataclass(frozen=True)
class Size:
    """One point: the sizes of a step and of its model."""

    prompts: int = 8
    group: int = 8
    prompt: int = 32
    completion: int = 32
    width: int = 256
    depth: int = 4


POINTS: dict[str, Sequence[int]] = {
    "prompts": (2, 4, 8, 16, 32, 64),
    "group": (2, 4, 8, 16, 32, 64),
    "prompt": (16, 32, 64, 128, 256, 512),
    "completion": (8, 16, 32, 64, 128, 256),
    "width": (64, 128, 256, 512, 768, 1024),
    "depth": (1, 2, 4, 8, 16, 32),
}


def main() -> None:
    job = Job.given()
    base = Size(2, 2, 4, 4, 64, 1) if job.small else Size()
    result, steep = {}, 0
    for name, points in POINTS.items():
        sizes = [replace(base, **{name: value}) for value in (points[:3] if job.small else points)]
        curve = asyncio.run(dimension(name, sizes, 1 if job.small else max(3, job.rounds)))
        result[name] = curve
        steep += sum(s > STEEP and curve["counted"][part] <= 1.0 for part, s in curve["slopes"].items())
    found({"dimensions": result, "too_steep": steep})


async def dimension(name: str, sizes: Sequence[Size], rounds: int) -> dict[str, Any]:
    built = [build(size) for size in sizes]
    rows: list[list[tuple[float, float]]] = [[] for _ in sizes]
    for number in range(rounds + 1):
        for ours, row in zip(built, rows, strict=True):
            step = await take_step(ours)
            if number:
                row.append((step.sample, step.learn))
    parts = {
        "sample": [statistics.median(sample for sample, _ in row) for row in rows],
        "learn": [statistics.median(learn for _, learn in row) for row in rows],
        "step": [statistics.median(sample + learn for sample, learn in row) for row in rows],
    }
    at = [getattr(size, name) for size in sizes]
    counts = [counted(size) for size in sizes]
    curve = {
        "at": at,
        "seconds": {part: [round(s, 4) for s in seconds] for part, seconds in parts.items()},
        "slopes": {part: round(slope(at, seconds), 3) for part, seconds in parts.items()},
        "last_slopes": {part: round(slope(at[-3:], seconds[-3:]), 3) for part, seconds in parts.items()},
        "counted": {part: round(slope(at, [count[part] for count in counts]), 3) for part in parts},
        "counted_last": {part: round(slope(at[-3:], [count[part] for count in counts][-3:]), 3) for part in parts},
    }
    tell(f"  {name}: slopes {curve['slopes']}, by counting {curve['counted']}")
    return curve


def build(size: Size) -> Ours:
    torch.manual_seed(0)
    tokenizer = characters()
    config = llama(tokenizer, size.width, size.depth, positions=size.prompt + size.completion)
    work = Rollouts("", RANDOM, size.prompts, size.group, size.completion)
    vocab = len(tokenizer)

    def draw(i: int) -> Task:
        return Task(str(i), [derive(i, place) % vocab for place in range(size.prompt)])

    return put_together(LlamaForCausalLM(config).eval(), tokenizer, draw, work)


def counted(size: Size) -> dict[str, float]:
    """Operations of a step by part."""
    shape = Shape(size.width, size.width * 11 // 4, size.depth, size.width, size.width, len(characters()))
    lengths = [size.completion] * size.group
    parts = {
        "sample": size.prompts * sampling(shape, size.prompt, lengths),
        "learn": size.prompts * learning(shape, size.prompt, lengths),
    }
    return {**parts, "step": sum(parts.values())}


if __name__ == "__main__":
    main()
