"""The work of a comparison: one arm trained on one seed, or the start evaluated; and what each leaves in the folder.

comparison.json                  what is compared
start.json, start.jsonl          numbers and decodes of the policy that all arms begin with
arms/ARM/seed-0/                 a run folder like any other, without checkpoints once it is done, and beside that
    result.json, decodes.jsonl   its numbers, what it used, and its decodes at the end
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon import checkpoint
from guerdon.compare.base import Arm, Comparison
from guerdon.compare.paced import Paced
from guerdon.evaluation.protocol import metrics
from guerdon.evaluation.protocol.base import Evaluated
from guerdon.evaluation.protocol.collect import collect
from guerdon.evaluation.protocol.store import write_evaluated
from guerdon.files import write_whole
from guerdon.judges.outcome import JudgeStopped
from guerdon.loop import train
from guerdon.metrics import Event, Sink, read_events
from guerdon.parts import Parts, load_parts
from guerdon.run import RunFolder
from guerdon.runner import prepare
from guerdon.sources import Starved

if TYPE_CHECKING:
    from collections.abc import Iterator

DECODES, RESULT, START = "decodes.jsonl", "result.json", "start"


@dataclass(frozen=True)
class Job:
    """arm: its words; '' for the start, which all arms and seeds share."""

    arm: str
    seed: int = 0

    def __str__(self) -> str:
        return f"seed {self.seed}, {self.arm}" if self.arm else "the start"


Tell = Callable[[int, int], None]
"""(sampled tokens so far, the budget)."""


def jobs_of(comparison: Comparison, seeds: int) -> Iterator[Job]:
    """All jobs: the start, then seed by seed with the arms in turn, so that a stop leaves whole pairs."""
    yield Job("")
    for seed in range(seeds):
        for arm in comparison.arms:
            yield Job(arm.spec, seed)


def place_of(folder: Path, arm: Arm, seed: int) -> Path:
    return folder / "arms" / arm.folder / f"seed-{seed}"


def result_of(folder: Path, comparison: Comparison, job: Job) -> dict[str, Any] | None:
    """What a job left; None where it is not done, or the method's code has changed since."""
    arm = next((one for one in comparison.arms if one.spec == job.arm), None)
    path = folder / f"{START}.json" if arm is None else place_of(folder, arm, job.seed) / RESULT
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return None if arm is not None and found["code"] != arm.code else found


def do(comparison: Comparison, folder: Path, job: Job, tell: Tell, asked: Callable[[], bool]) -> bool:
    """Do a job, or go on with it from its last checkpoint. False: it was asked to stop, and has saved."""
    if not job.arm:
        return _start(comparison, folder)
    arm = next(one for one in comparison.arms if one.spec == job.arm)
    place = place_of(folder, arm, job.seed)
    _clear_if_changed(place, arm)
    done = _train(comparison, arm, job.seed, RunFolder(place), tell, asked)
    if done is None:
        return False
    write_whole(
        place / RESULT, json.dumps({"arm": arm.spec, "seed": job.seed, "code": arm.code, **done}, indent=1) + "\n"
    )
    shutil.rmtree(place / "checkpoints", ignore_errors=True)
    return True


def _clear_if_changed(place: Path, arm: Arm) -> None:
    """What an older version of the method left is no part of this comparison."""
    mark = place / "code.txt"
    if mark.is_file() and mark.read_text() != arm.code:
        shutil.rmtree(place)
    place.mkdir(parents=True, exist_ok=True)
    mark.write_text(arm.code)


def _start(comparison: Comparison, folder: Path) -> bool:
    # Any arm's run will do: they begin with the same weights and are decoded alike.
    parts = load_parts(comparison.run(comparison.arms[0], 0))
    found = asyncio.run(_evaluate(comparison, parts, comparison.decodes))
    write_evaluated(folder / f"{START}.jsonl", found)
    first = metrics.figures(found.first(comparison.on_the_way))
    write_whole(
        folder / f"{START}.json", json.dumps({"evaluation": metrics.as_dict(found), "first": first}, indent=1) + "\n"
    )
    return True


async def _evaluate(comparison: Comparison, parts: Parts, decodes: int) -> Evaluated:
    """The policy as it is now, with the first so many decodes of the protocol."""
    held, reward = comparison.held
    protocol = replace(comparison.protocol, decodes=decodes)
    return await collect(protocol, held, reward, parts.samplers, parts.chat, parts.how.stop_tokens)


def _train(
    comparison: Comparison, arm: Arm, seed: int, folder: RunFolder, tell: Tell, asked: Callable[[], bool]
) -> dict[str, Any] | None:
    """Train an arm up to the budget and evaluate it; None when it was asked to stop before."""
    run = comparison.run(arm, seed)
    folder.write(run)
    runner = prepare(run, folder, [_telling(comparison, tell)])

    async def look(paced: Paced) -> None:
        _log(paced, await _evaluate(comparison, paced.parts, comparison.on_the_way))

    paced = Paced.of(runner, comparison.marks, look, asked)
    try:
        _go_on(paced)
    except checkpoint.Damaged:  # then from the beginning, with nothing of it left in memory either
        shutil.rmtree(folder.checkpoints)
        return _train(comparison, arm, seed, folder, tell, asked)
    told = {"run": str(folder.path), "recipe": run.recipe, "model": run.options.model}
    paced.log("start", step=paced.step, steps=paced.steps, **told)
    ended, found = asyncio.run(_drive(comparison, paced))
    paced.log("end", step=paced.step, state="finished" if found else "interrupted", why=ended)
    if found is None:
        return None
    write_evaluated(folder.path / DECODES, found)
    return {
        "ended": ended,
        "steps": paced.step,
        "used": {name: value for name, value in paced.budget.as_dict().items() if name != "seconds"},
        "excess": max(0, paced.spent - comparison.budget),
        "seconds": round(paced.budget.seconds, 3),
        "evaluation": metrics.as_dict(found),
        "curve": [event for event in read_events(folder.metrics) if event["event"] == "eval"],
    }


async def _drive(comparison: Comparison, paced: Paced) -> tuple[str, Evaluated | None]:
    """Why it ended, and the policy at the end; without that where it was asked to stop, and has saved."""
    try:
        ended = await _learn(paced)
        if ended is None:
            await paced.save()
            return "asked to stop", None
        found = await _evaluate(comparison, paced.parts, comparison.decodes)
    finally:
        await paced.close()
    _log(paced, found.first(comparison.on_the_way))
    return ended, found


async def _learn(paced: Paced) -> str | None:
    """Train until the budget is used up, or nothing more can be learned or paid for; None: it was asked to stop."""
    try:
        await paced.look_if_due()
        if not paced.done:
            await train(paced.source, paced.learner, paced)
    except (Starved, JudgeStopped) as error:
        return f"{type(error).__name__}: {error}"
    return "budget" if paced.done else None


def _log(paced: Paced, found: Evaluated) -> None:
    """An evaluation among the events of the run, so that its own report draws it, too."""
    told = metrics.as_dict(found)
    paced.log("eval", step=paced.step, marks=paced.passed, tokens=paced.spent, **told)


def _telling(comparison: Comparison, tell: Tell) -> Sink:
    def sink(event: Event) -> None:
        if event["event"] == "step":
            tell(event["budget"]["sampled_tokens"], comparison.budget)

    return sink


def _go_on(paced: Paced) -> None:
    """Restore what was saved; what cannot be read, or was never saved, is begun anew."""
    whole = checkpoint.complete(paced.folder.checkpoints)
    checkpoint.sweep(paced.folder.checkpoints)
    if whole:
        paced.restore(whole[-1])
    else:
        paced.folder.rewind(-1)
        paced.log.rewind(-1)
    looks = [event["marks"] for event in read_events(paced.folder.metrics) if event["event"] == "eval"]
    paced.passed = max(looks, default=0)
