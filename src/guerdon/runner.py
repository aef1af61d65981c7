"""Running a run: put its parts together, drive the loop, log, evaluate, save, stop when asked, and go on where it was.

`execute` is what the command line calls. SIGINT and SIGTERM let the step in hand finish, then save; a second one
stops at once. Whatever happens, the last whole checkpoint stays whole.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from guerdon import checkpoint, lock
from guerdon.engines.local import LocalEngine
from guerdon.evaluation.evaluate import evaluate
from guerdon.judges.base import Voice
from guerdon.judges.outcome import JudgeStopped
from guerdon.judges.usage import Usage
from guerdon.learner import Learner
from guerdon.loop import train
from guerdon.metrics import Log, Sink, Stats, merge, read_events, values
from guerdon.models import reward
from guerdon.models.load import save_policy
from guerdon.parts import Parts, load_parts, make_source, watch_of, weights_of
from guerdon.rewards.judged import voices
from guerdon.rewards.rehearsal import rehearse
from guerdon.rewards.scoring import Fault
from guerdon.run import Budget, Measure, Measured, Options, Run, RunFolder
from guerdon.sources import Source, Starved
from guerdon.store import write_episodes
from guerdon.summary import summarise
from guerdon.tasks.base import each
from guerdon.types import EMPTY, Batch, Group
from guerdon.watch import Watch

FAULTS_SHOWN = 5
"""Faults of one step that are logged in words."""


@dataclass
class Runner:
    """A run in progress. step: updates done. stopping: finish the step in hand, save, and leave."""

    parts: Parts
    folder: RunFolder
    learner: Learner
    source: Source
    log: Log
    watch: Watch
    judges: Mapping[str, Voice] = EMPTY
    measure: Measure | None = None
    step: int = 0
    stopping: bool = False
    budget: Budget = field(default_factory=Budget)
    _began: float = field(default_factory=time.perf_counter)
    _saved: int = -1
    _evaluated: int = -1
    _measured: dict[str, float] = field(default_factory=dict)
    """What an evaluation found since the last step, for the watch."""
    _paid: dict[str, Usage] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        return self.options.steps

    @property
    def options(self) -> Options:
        return self.parts.run.options

    async def finish_step(self, groups: list[Group], stats: Stats) -> None:
        """Account for a step, log it, store its episodes; evaluate and save when due."""
        self.step += 1
        judged = self._judged()
        numbers = values(merge([stats, *(used.stats(f"judge/{name}") for name, used in judged.items())]))
        self._spend(numbers, judged.values())
        self._store(self.folder.episodes(self.step), groups, self.learner.last.get("policy"))
        self._log("step", step=self.step, steps=self.steps, metrics=numbers, budget=self.budget.as_dict())
        measured, self._measured = self._measured, {}
        for alarm in self.watch.see(self.step, groups, {**numbers, **measured}):
            self._log("alarm", **asdict(alarm))
        if _due(self.step, self.options.eval_every) and self.step < self.steps:
            await self.evaluate()
        if _due(self.step, self.options.save_every) and self.step < self.steps:
            await self.save()

    def report_faults(self, faults: Sequence[Fault]) -> None:
        """Log what went wrong with single tasks of a step: the first few in words, and how many samples it cost."""
        samples = sum(fault.samples for fault in faults)
        for fault in faults[:FAULTS_SHOWN]:
            self._log("fault", step=self.step + 1, task=fault.task, where=fault.where, what=fault.what, of=samples)

    def _store(self, path: Path, groups: list[Group], batch: Batch | None = None) -> None:
        with checkpoint.writing(path, self.folder.checkpoints):
            write_episodes(path, self.step, groups, batch)

    def _log(self, event: str, **fields: Any) -> None:
        with checkpoint.writing(self.folder.metrics, self.folder.checkpoints):
            self.log(event, **fields)

    def _judged(self) -> dict[str, Usage]:
        """What each judge used since this was last asked."""
        new = {name: judge.usage.since(self._paid.get(name, Usage())) for name, judge in self.judges.items()}
        self._paid = {name: judge.usage.copy() for name, judge in self.judges.items()}
        return new

    def _spend(self, numbers: Mapping[str, float], judged: Iterable[Usage]) -> None:
        self.budget.sampled_tokens += int(numbers.get("sampled/tokens", 0))
        self.budget.rollouts += int(numbers.get("sampled/rollouts", 0))
        self.budget.judge_tokens += int(numbers.get("sampled/judge_tokens", 0))
        for used in judged:
            self.budget.judge_calls += used.calls
            self.budget.judge_tokens += used.prompt_tokens + used.completion_tokens
        self.budget.seconds += time.perf_counter() - self._began
        self._began = time.perf_counter()
        engine = self.parts.engines["policy"]
        if isinstance(engine, LocalEngine):
            self.budget.trained_tokens, self.budget.gradient_steps = engine.trained_tokens, engine.steps

    async def evaluate(self) -> Measured | None:
        """Held-out accuracy: of the run's own measure, or with the very sampling, rewards and limits of training."""
        run = self.parts.run
        found: Measured
        if self.measure is not None:
            found = self.measure()
        elif run.tasks is not None and self.options.eval_tasks:
            tasks = list(each(run.tasks.heldout, self.options.eval_tasks))
            found = await evaluate(tasks, run.tasks.reward, self.parts.samplers, self.parts.chat, self.parts.how)
        else:
            return None
        self._store(self.folder.episodes(self.step, "heldout"), found.groups)
        self._log("eval", step=self.step, **found.as_dict())
        self._measured = {"accuracy": found.accuracy.mean}
        self.report_faults(found.faults)
        self._evaluated = self.step
        return found

    async def save(self) -> None:
        """Write a checkpoint; the run can continue from it exactly."""
        state = {"step": self.step, "budget": self.budget, "source": await self.source.state()}
        state |= {"watch": self.watch.state(), "measured": self._measured}
        state |= {"judges": {name: judge.usage.as_dict() for name, judge in self.judges.items()}}

        def write(folder: Path) -> None:
            self.learner.save(folder)
            self.parts.policy.tokenizer.save_pretrained(folder / "policy" / "model")
            checkpoint.write_state(folder, state)

        path = checkpoint.save(self.folder.checkpoints, self.step, write, self.options.keep)
        self._saved = self.step
        self._log("save", step=self.step, path=str(path))

    def restore(self, path: Path) -> None:
        """Continue from a checkpoint. Damaged when it cannot be read; another one can be tried then."""
        try:
            self.learner.restore(path)
            state = checkpoint.read_state(path)
            self.step, self.budget = state["step"], state["budget"]
            self.source.restore(state["source"])
            self.watch.restore(state["watch"])
            self._measured = state["measured"]
            for name, judge in self.judges.items():
                judge.usage.restore(state["judges"].get(name, {}))
            self._judged()
        except Exception as error:  # torch, safetensors, json and pickle have their own ways to say it
            raise checkpoint.Damaged(f"checkpoint {path} cannot be read: {type(error).__name__}: {error}") from error
        for sampler in self.parts.samplers.values():
            sampler.load(None, self.learner.version)
        self.folder.rewind(self.step)
        self.log.rewind(self.step)
        self._saved = self.step
        evals = [event["step"] for event in read_events(self.folder.metrics) if event["event"] == "eval"]
        self._evaluated = max(evals, default=-1)

    def save_evidence(self, groups: list[Group]) -> str:
        """Keep the batch that broke a step, next to the run."""
        path = self.folder.path / "episodes" / f"failed-step-{self.step + 1:06d}.parquet"
        try:
            write_episodes(path, self.step + 1, groups)
        except OSError as error:
            return f"The batch could not be saved in {path}: {error}."
        return f"The batch is saved in {path}."

    async def save_learned(self) -> str:
        """Save unless that is done; says where, for an error that is about something else."""
        if self._saved != self.step:
            await self.save()
        return f"What was learned in {self.step} steps is saved in {checkpoint.complete(self.folder.checkpoints)[-1]}."

    async def close(self) -> None:
        """Let go of what judges hold open."""
        for judge in self.judges.values():
            await judge.close()

    async def start(self) -> None:
        """Evaluate the policy that a run starts from."""
        if self.step == 0 and self._evaluated < 0:
            await self.evaluate()

    async def finish(self) -> None:
        """Last evaluation, last checkpoint, and the trained policy as a plain folder."""
        done = self.step >= self.steps
        if done and self._evaluated != self.step:
            await self.evaluate()
        await self.save_learned()
        if done:
            with checkpoint.writing(self.folder.model, self.folder.checkpoints, Exception):
                checkpoint.write_folder(self.folder.model, partial(_write_model, self.parts))


def _write_model(parts: Parts, folder: Path) -> None:
    policy, heads = parts.policy, parts.run.method.scores
    if heads is not None:
        reward.save(policy, heads, folder)
    else:
        save_policy(policy.module, policy.tokenizer, folder)


def _due(step: int, every: int) -> bool:
    return every > 0 and step % every == 0


@dataclass(frozen=True)
class Outcome:
    """How a run ended. state: finished or interrupted."""

    state: str
    folder: Path
    step: int
    summary: dict[str, Any]


def prepare(run: Run, folder: RunFolder, sinks: Iterable[Sink] = ()) -> Runner:
    """Load everything and put it together, without starting; rewards are tried out before the models are loaded."""
    rehearse(run.scoring if run.source is None else run.rewards, run.tasks)
    parts = load_parts(run)
    learner = Learner(
        method=run.method,
        engines=parts.engines,
        weights=weights_of(run),
        max_gap=run.options.gap_limit,
        seed=run.options.seed,
    )
    log, judges = Log(folder.metrics, sinks), voices(run.scoring)
    measure = run.measure(parts) if run.measure else None
    return Runner(parts, folder, learner, make_source(parts), log, watch_of(run), judges, measure)


def execute(run: Run, out: Path, *, resume: bool = False, sinks: Iterable[Sink] = ()) -> Outcome:
    """Run to the end, or until interrupted. With `resume`, continue the run in `out` from its last whole checkpoint."""
    folder = RunFolder(out)
    if resume:
        _same_measure(run, folder)
    else:
        folder.create(run)
    with lock.alone(out):
        try:
            runner = prepare(run, folder, sinks)
        except BaseException:
            if not resume:
                _give_back(folder)
            raise
        if resume:
            _resume(runner)
            folder.write(run)
        try:
            return _run(runner)
        except BaseException as error:
            with suppress(OSError):
                runner.log("end", step=runner.step, state="failed", why=f"{type(error).__name__}: {error}")
            raise


def _same_measure(run: Run, folder: RunFolder) -> None:
    """A run is measured before and after on the same tasks with the same scorer, or the two say nothing together."""
    before = folder.read().get("options", {})
    for name in ("tasks", "reward"):
        now = getattr(run.options, name)
        if name in before and before[name] != now:
            raise ValueError(
                f"{folder.path} was begun with {name} {before[name]!r} and cannot go on with {now!r}: accuracy before "
                f"and after would be of different things. Begin a new run from its policy: --model {folder.model}"
            )


def _give_back(folder: RunFolder) -> None:
    """Nothing was started: the same command, mended, may have the folder."""
    folder.record.unlink(missing_ok=True)
    (folder.path / lock.NAME).unlink(missing_ok=True)
    with suppress(OSError):  # it was there before, with something in it
        folder.path.rmdir()


def _run(runner: Runner) -> Outcome:
    run, out = runner.parts.run, runner.folder.path
    runner.log("start", step=runner.step, steps=runner.steps, run=str(out), recipe=run.recipe, model=run.options.model)
    asyncio.run(_drive(runner))
    state = "finished" if runner.step >= runner.steps else "interrupted"
    summary = summarise(runner.folder, runner.step, runner.budget, runner.parts.policy.module)
    runner.log("end", step=runner.step, state=state, summary=summary)
    return Outcome(state, out, runner.step, summary)


def _resume(runner: Runner) -> None:
    """Restore the last checkpoint, or the one before where that is damaged; from the start where there is none."""
    whole = checkpoint.complete(runner.folder.checkpoints)
    if whole and checkpoint.step_of(whole[-1]) >= runner.steps and _finished(runner.folder, whole[-1]):
        raise ValueError(
            f"{runner.folder.path} is already at step {checkpoint.step_of(whole[-1])} of {runner.steps}; "
            "nothing is left to do. Give more --steps to go on"
        )
    checkpoint.sweep(runner.folder.checkpoints)
    damaged: dict[Path, checkpoint.Damaged] = {}
    for path in reversed(whole):
        try:
            runner.restore(path)
            break
        except checkpoint.Damaged as error:
            damaged[path] = error
    else:
        if damaged:
            raise next(iter(damaged.values()))
        runner.folder.rewind(-1)
        runner.log.rewind(-1)
    for path, why in damaged.items():
        aside = checkpoint.set_aside(path)
        runner.log("damaged", step=runner.step, path=str(aside), why=str(why))


def _finished(folder: RunFolder, last: Path) -> bool:
    """Whether the run said that it ended at this checkpoint; it may have died while it wrote the trained policy."""
    ends = [event for event in read_events(folder.metrics) if event["event"] == "end"]
    return any(e["state"] == "finished" and e["step"] == checkpoint.step_of(last) for e in ends)


async def _drive(runner: Runner) -> None:
    with _stop_signals(runner):
        await runner.start()
        try:
            await train(runner.source, runner.learner, runner)
        except (Starved, JudgeStopped) as error:  # often because all is learned, or paid for: the policy is kept
            raise type(error)(f"{error} {await runner.save_learned()}") from error
        finally:
            await runner.close()
        await runner.finish()


@contextmanager
def _stop_signals(runner: Runner) -> Iterator[None]:
    """SIGINT and SIGTERM ask for a stop; the second time they get it. Off the main thread nothing is installed."""

    def ask(number: int, frame: Any) -> None:
        if runner.stopping:
            raise KeyboardInterrupt
        runner.stopping = True
        with suppress(OSError):  # a full disk must not raise in the middle of whatever runs
            runner.log("stopping", step=runner.step, signal=signal.Signals(number).name)

    old = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            old[number] = signal.signal(number, ask)
    except ValueError:
        pass
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
