"""Which share of a step is spent outside the model, in a whole run: loop, rollouts, rewards, store, log and watch.

A checkpoint is written once and counted as one in 50 steps, which is how often a run writes one.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from guerdon.loop import train
from guerdon.metrics import Event
from guerdon.recipes import make_run
from guerdon.rewards.base import PerEpisode
from guerdon.run import Options, Run, RunFolder
from guerdon.runner import Runner, prepare
from guerdon.sources import Rollouts as Source
from guerdon.tasks.base import Endless
from guerdon.types import Task
from speed.job import Job, found, tell
from speed.ours import scored, tasks
from speed.where import MODEL, OUTSIDE, Place, Where
from speed.workloads import Rollouts

SHOWN = 0.0005
"""Places with less than this share of a step are left out of the record."""


class Steps:
    """A sink that notes, at the end of every step, how long it took and where its time went."""

    def __init__(self, where: Where) -> None:
        self.seconds: list[float] = []
        self.places: list[dict[Place, float]] = []
        self._where, self._last = where, time.perf_counter()

    def __call__(self, event: Event) -> None:
        if event["event"] != "step":
            return
        now = time.perf_counter()
        self.seconds.append(now - self._last)
        self.places.append(self._where.read())
        tell(f"  step {len(self.seconds)}: {self.seconds[-1]:.2f} s")
        self._last = now


def main() -> None:
    job = Job.given()
    work = job.rollouts(job.workload.removeprefix("overhead-"))
    run = the_run(work, job, steps=job.rounds + 1)
    folder = RunFolder(Path(job.scratch) / f"run-{job.workload}")
    folder.create(run)
    where = Where()
    steps = Steps(where)
    runner = prepare(run, folder, [steps])
    source = runner.source
    assert isinstance(source, Source)
    source.how = source.how.but(stop_tokens=())  # completions of exactly the workload's length
    checkpoint = asyncio.run(drive(runner, where))
    found(account(steps.seconds[1:], steps.places[1:], checkpoint))


def the_run(work: Rollouts, job: Job, steps: int) -> Run:
    """The recipe of GRPO with the prompts and the reward of the workload."""
    sizes = {"prompts_per_step": work.prompts, "samples_per_prompt": work.group, "max_new_tokens": work.length}
    settings: dict[str, Any] = {"model": job.folders[work.model], "lr": 1e-6, "steps": steps, "eval_tasks": 0, **sizes}
    run = make_run("grpo", {**settings, "save_every": 0, "slots": work.prompts * work.group})
    draw = tasks(work)

    def make(i: int, seed: int) -> Task:
        return draw(i)

    assert run.tasks is not None
    reward = PerEpisode("score", scored)
    return replace(run, tasks=replace(run.tasks, train=Endless(make), reward=reward), rewards=(reward,))


async def drive(runner: Runner, where: Where) -> float:
    """All steps, and the seconds of one checkpoint after them."""
    with where:
        await train(runner.source, runner.learner, runner)
    begin = time.perf_counter()
    await runner.save()
    return time.perf_counter() - begin


def account(seconds: list[float], places: list[dict[Place, float]], checkpoint: float) -> dict[str, Any]:
    """Medians over steps: how long, and which share of it where."""
    step = statistics.median(seconds)
    shares = [{place: s / total for place, s in found.items()} for total, found in zip(seconds, places, strict=True)]
    names = {place for share in shares for place in share}
    parts = {place: statistics.median(share.get(place, 0.0) for share in shares) for place in names}
    outside = statistics.median(sum(s for (kind, _), s in share.items() if kind == OUTSIDE) for share in shares)
    writing = checkpoint / Options.save_every
    return {
        "step": round(step, 4),
        "checkpoint_seconds": round(checkpoint, 3),
        "outside_without_checkpoints": round(outside, 5),
        "outside": round((outside * step + writing) / (step + writing), 5),
        "parts": {kind: _largest(parts, kind) for kind in (MODEL, OUTSIDE)},
    }


def _largest(parts: dict[Place, float], kind: str) -> dict[str, float]:
    found = {name: share for (of, name), share in parts.items() if of == kind and share >= SHOWN}
    return {name: round(share, 4) for name, share in sorted(found.items(), key=lambda item: -item[1])}


if __name__ == "__main__":
    main()
