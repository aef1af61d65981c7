"""Z: the training part of a step of S when half of its groups have equal rewards, against when none has.

One batch is sampled and scored anew both ways; the learning rate is 0, so that all rounds see the same weights. The
gradient of the batch with dead groups is compared with the one that nothing is left out of.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from guerdon.collate import collate
from guerdon.method import Objective, Term
from guerdon.models.load import load_policy
from guerdon.types import Batch, Group, Score
from speed.job import Job, found, tell
from speed.ours import Ours, put_together, tasks


@dataclass(frozen=True)
class Whole:
    """An objective that is computed on every sequence, whatever its advantage."""

    inner: Objective
    inert_without_advantage: bool = False

    @property
    def needs(self) -> Any:
        return self.inner.needs

    @property
    def wants(self) -> Any:
        return self.inner.wants

    @property
    def unit(self) -> Any:
        return self.inner.unit

    def __call__(self, out: Any, batch: Batch) -> Tensor:
        return self.inner(out, batch)


async def main() -> None:
    job = Job.given()
    work = job.rollouts("S")
    policy = load_policy(job.folders[work.model])
    ours = put_together(policy.module, policy.tokenizer, tasks(work), work, lr=0.0)
    async with ours.source:
        groups = (await ours.source.take(0)).groups
    dead = len(groups) // 2
    batches = {"all groups live": rewarded(groups, 0), "half of them dead": rewarded(groups, dead)}
    seconds: dict[str, list[float]] = {name: [] for name in batches}
    for number in range(job.rounds + 1):
        for name, batch in batches.items():
            ours.learner.version = 0  # the samples stay those of the weights of now
            begin = time.perf_counter()
            await ours.learner.update(batch)
            took = time.perf_counter() - begin
            tell(f"  round {number}{'' if number else ' (not counted)'} {name}: {took:.2f} s")
            if number:
                seconds[name].append(took)
    medians = {name: statistics.median(took) for name, took in seconds.items()}
    live, half = medians.values()
    found(
        {
            "groups": len(groups),
            "dead": dead,
            "seconds": {name: round(took, 4) for name, took in medians.items()},
            "steps": {name: [round(one, 4) for one in took] for name, took in seconds.items()},
            "share": round(half / live, 4),
            "gradient_difference": difference(ours, batches["half of them dead"]),
        }
    )


def rewarded(groups: list[Group], dead: int) -> list[Group]:
    """The groups with rewards of our own: all 1 in the first `dead` of them, all different in the others."""
    return [
        [replace(e, scores={"score": Score(1.0 if number < dead else float(i))}) for i, e in enumerate(group)]
        for number, group in enumerate(groups)
    ]


def difference(ours: Ours, groups: list[Group]) -> float:
    """|gradient - gradient with nothing left out| / |the latter|, over all parameters together."""
    skipping, whole = (gradient(ours, groups, terms) for terms in (ours.learner.method.terms, whole_terms(ours)))
    apart = sum(float((skipping[name] - whole[name]).double().square().sum()) for name in whole)
    size = sum(float(tensor.double().square().sum()) for tensor in whole.values())
    return float((apart / size) ** 0.5)


def whole_terms(ours: Ours) -> tuple[Term, ...]:
    return tuple(replace(term, objective=Whole(term.objective)) for term in ours.learner.method.terms)


def gradient(ours: Ours, groups: list[Group], terms: tuple[Term, ...]) -> dict[str, Tensor]:
    batch = ours.learner.prepare("policy", collate(groups))
    ours.engine.module.zero_grad(set_to_none=True)
    skipped = ours.engine.forward_backward(batch, terms)["skipped"].value
    if (skipped > 0) != (terms is ours.learner.method.terms):
        raise RuntimeError(f"{skipped:.0%} of the sequences were left out; expected none of the whole, and some else")
    named = ours.engine.module.named_parameters()
    return {name: p.grad.clone() for name, p in named if isinstance(p.grad, torch.Tensor)}


if __name__ == "__main__":
    asyncio.run(main())
