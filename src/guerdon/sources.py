"""Where experience comes from: rollouts of the policy, a data set, stored episodes, a replay buffer, or a mixture.

A source is entered, asked to `take` a batch of groups at a learner's version, told when new weights are out, and can
be written down and restored. `Rollouts` is the one for language models; synchronous training is its lag of zero.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from guerdon.chat import Chat
from guerdon.method import Filter
from guerdon.metrics import Busy, Stat, Stats, Total, merge
from guerdon.rewards.base import Reward
from guerdon.rewards.scoring import OWN_FAULTS, Fault, score_group, scored
from guerdon.rollouts.base import Context, Rollout, derive
from guerdon.rollouts.single import single_turn
from guerdon.samplers.base import Sampler, Sampling
from guerdon.types import STATUSES, Group, Task

if TYPE_CHECKING:
    from guerdon.learner import Learner


@dataclass(frozen=True)
class Experience:
    """What a source hands over: groups to learn from, and what it has to say about how they came about."""

    groups: list[Group]
    stats: Stats = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)


class Source(Protocol):
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *error: object) -> None: ...
    async def take(self, version: int) -> Experience:
        """The next batch, for a learner at this version."""
        ...

    async def publish(self, learner: Learner) -> None:
        """New weights are out: pass them on, and count what was taken as used."""
        ...

    async def state(self) -> dict[str, Any]:
        """All that is needed to continue exactly here (after finishing what is in flight)."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None: ...


class Starved(RuntimeError):
    """Filters dropped so many groups in a row that no batch can be filled."""


class TooManyFaults(RuntimeError):
    """So many rollouts or rewards failed that going on would hide a bug."""


Draw = Callable[[int], Task]
"""The i-th task of a run, from 0, for ever; deterministic, so that an index is all the state there is."""


@dataclass
class _Attempt:
    """One draw of a task. group: what is left of it for learning; None, with `dropped_by`, when nothing is."""

    draw: int
    version: int
    task: str = ""
    group: Group | None = None
    dropped_by: str = ""
    faults: list[Fault] = field(default_factory=list)
    stats: Stats = field(default_factory=dict)

    def spoiled(self, n: int) -> int:
        """How many of its n samples had a fault."""
        return min(n, sum(fault.samples for fault in self.faults))


@dataclass
class Rollouts:
    """Draw a task, roll out a group, score it, filter it.

    Owns (max_lag + 1) * batch slots, each held from the draw of its task until `publish` or a filter's drop, so that
    data is never older than max_lag versions; with max_lag 0 every batch is sampled by the weights that learn from it.
    Whoever waits, waits until all that is in flight has landed, and weights change only then: what a run learns from
    does not depend on timing, nor on where it was interrupted.
    min_group: paths that a group must still have after its filters; the estimator says how many it can compare.
    patience: drops in a row, in batches, before `Starved`. max_fault_share: of the samples of the last 8 batches.
    """

    tasks: Draw
    samplers: Mapping[str, Sampler]
    chat: Chat
    how: Sampling
    rewards: Sequence[Reward]
    batch: int
    n: int
    rollout: Rollout | None = None
    filters: Sequence[Filter] = ()
    min_group: int = 1
    max_lag: int = 0
    patience: int = 20
    max_fault_share: float = 0.25
    seed: int = 0
    draws: int = 0
    _inflight: dict[asyncio.Task, _Attempt] = field(default_factory=dict)
    _ready: list[_Attempt] = field(default_factory=list)
    _restored: list[_Attempt] = field(default_factory=list)
    _landed: list[tuple[Stats, list[Fault]]] = field(default_factory=list)
    _taken: int = 0
    _drops: Counter = field(default_factory=Counter)
    _recent: list[_Attempt] = field(default_factory=list)
    _version: int = 0
    _scoring: Busy = field(default_factory=Busy)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        for task in self._inflight:
            task.cancel()
        await asyncio.gather(*self._inflight, return_exceptions=True)
        self._inflight.clear()

    async def take(self, version: int) -> Experience:
        self._version = version
        while len(self._ready) < self.batch:
            self._launch()
            await self._land()
        self._ready.sort(key=lambda attempt: (attempt.version, attempt.draw))
        taken, self._ready = self._ready[: self.batch], self._ready[self.batch :]
        landed, self._landed = self._landed, []
        self._taken += len(taken)
        self._drops.clear()
        lag = Stat(sum(version - attempt.version for attempt in taken), len(taken))
        groups = [attempt.group for attempt in taken if attempt.group is not None]
        own: Stats = {"lag": lag, "seconds/score": Total(self._scoring.read())}
        stats = merge([*(stats for stats, _ in landed), own, describe(groups, self.rewards)])
        return Experience(groups, stats, [fault for _, faults in landed for fault in faults])

    async def publish(self, learner: Learner) -> None:
        await self._land()
        for role, sampler in self.samplers.items():
            sampler.load(learner.engines[role].weights() if role in learner.engines else None, learner.version)
        self._version = learner.version
        self._taken = 0
        if self.max_lag:
            self._launch()
            await asyncio.sleep(0)

    async def state(self) -> dict[str, Any]:
        """What is in flight is finished, but counts as landed only when the next one to wait would have seen it."""
        flying = [*self._restored, *await self._ended()]
        return {"draws": self.draws, "ready": self._ready, "landed": self._landed, "flying": flying}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.draws = state["draws"]
        self._ready, self._landed, self._restored = (list(state[name]) for name in ("ready", "landed", "flying"))

    def _launch(self) -> None:
        slots = (self.max_lag + 1) * self.batch
        while len(self._inflight) + len(self._restored) + len(self._ready) + self._taken < slots:
            attempt = _Attempt(self.draws, self._version)
            self._inflight[asyncio.create_task(self._attempt(attempt))] = attempt
            self.draws += 1

    async def _land(self) -> None:
        """Wait until everything in flight has ended; keep each group or count its drop, in the order of the draws."""
        ended = [*self._restored, *await self._ended()]
        self._restored, self._inflight = [], {}
        for attempt in sorted(ended, key=lambda attempt: attempt.draw):
            self._landed.append((attempt.stats, attempt.faults))
            self._recent = [*self._recent, attempt][-8 * self.batch :]
            if attempt.group is not None:
                self._ready.append(attempt)
            else:
                self._drops[attempt.dropped_by] += 1
        self._guard()

    async def _ended(self) -> list[_Attempt]:
        """Everything in flight, once it has ended; an exception is passed on at once."""
        if not self._inflight:
            return []
        done, _ = await asyncio.wait(self._inflight, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            if not task.cancelled():
                task.result()
                continue
            attempt = self._inflight[task]  # nobody here did it: something in the rollout or a reward cancelled itself
            attempt.faults = [Fault(attempt.task, "rollout", "it was cancelled from inside", self.n)]
            attempt.stats, attempt.dropped_by = _account(attempt, [], 0, self.n), "faults"
        return list(self._inflight.values())

    async def _attempt(self, attempt: _Attempt) -> None:
        task = self.tasks(attempt.draw)
        attempt.task = task.id
        context = Context(self.samplers, self.chat, self.how, self.n, derive(self.seed, "draw", attempt.draw))
        try:
            group = await (self.rollout or single_turn)(task, context)
        except Exception as error:
            attempt.faults.append(Fault(task.id, "rollout", f"{type(error).__name__}: {error}", self.n))
            group = []
        if group:
            attempt.faults += await score_group(group, self.rewards, context, self._scoring)
        kept = scored(group, self.rewards)
        attempt.stats = _account(attempt, group, len(group) - len(kept), self.n)
        attempt.group, attempt.dropped_by = self._filter(kept, bool(attempt.faults))

    def _filter(self, group: Group, faulty: bool) -> tuple[Group | None, str]:
        if not group:
            return None, "faults" if faulty else "no reward applied"
        for passes in self.filters:
            kept = passes(group)
            if not kept:
                return None, getattr(passes, "__name__", repr(passes))
            group = kept
        if sum(len(episode.paths()) for episode in group) < self.min_group:
            return None, f"fewer than {self.min_group} completions left"
        return group, ""

    def _guard(self) -> None:
        faulty = [attempt for attempt in self._recent if attempt.faults]
        spoiled, samples = sum(attempt.spoiled(self.n) for attempt in faulty), self.n * len(self._recent)
        if len(faulty) >= max(4, self.batch) and spoiled > self.max_fault_share * samples:
            examples = "; ".join(str(attempt.faults[0]) for attempt in faulty[-3:])
            raise TooManyFaults(
                f"{spoiled} of the last {samples} samples had faults (limit {self.max_fault_share:.0%}). "
                f"Latest: {examples}"
            )
        dropped = self._drops.total()
        if dropped >= self.patience * self.batch:
            why = ", ".join(f"{name}: {number}" for name, number in self._drops.most_common())
            raise Starved(
                f"{dropped} groups in a row were dropped and no batch of {self.batch} could be filled ({why}). "
                "The tasks may be too easy or too hard for the policy, or a reward may never vary."
            )


def _account(attempt: _Attempt, group: Group, unscored: int, n: int) -> Stats:
    """Counts over everything that was rolled out, kept or not, and the share of each verdict."""
    judged = (e for episode in group for score in episode.scores.values() for e in score.episodes)
    drawn = [episode for episode in group if "logged" not in episode.notes]
    return {
        "sampled/tokens": Total(sum(episode.sampled_tokens for episode in drawn)),
        "sampled/judge_tokens": Total(sum(episode.sampled_tokens for episode in judged)),
        "sampled/rollouts": Total(len(drawn)),
        "sampled/groups": Total(1),
        "faults": Total(attempt.spoiled(n)),
        "unscored": Stat(unscored, len(group)),
        "truncated": Stat(sum(episode.stop == "length" for episode in group), len(group)),
        **_verdicts(group),
    }


def _verdicts(group: Group) -> Stats:
    """verdict/REWARD/STATUS: the share of each status. A plain number counts as none of them, but is counted."""
    stats: Stats = {}
    for name in {name for episode in group for name in episode.scores}:
        given = [episode.scores[name].verdict for episode in group if name in episode.scores]
        counts = Counter(verdict.status for verdict in given if verdict)
        shown = STATUSES if counts.keys() - OWN_FAULTS else OWN_FAULTS
        stats |= {f"verdict/{name}/{status}": Stat(counts[status], len(group)) for status in shown}
    return stats


def describe(groups: Sequence[Group], rewards: Sequence[Reward]) -> Stats:
    """Mean value of each reward, and of its named parts, over what is learned from."""
    episodes = [episode for group in groups for episode in group]
    stats: Stats = {}
    for reward in rewards:
        given = [e.scores[reward.name] for e in episodes if reward.name in e.scores]
        totals = [score.total() for score in given if score.applies]
        stats[f"reward/{reward.name}"] = Stat(sum(totals), len(totals))
        for part in sorted({part for score in given for part in score.parts}):
            values = [score.parts[part] for score in given if part in score.parts]
            stats[f"part/{reward.name}/{part}"] = Stat(sum(values), len(values))
    return stats


@dataclass
class Dataset:
    """Groups that are already there (rows to imitate, preference pairs): shuffled anew in every epoch."""

    groups: Sequence[Group]
    batch: int
    seed: int = 0
    draws: int = 0

    def __post_init__(self) -> None:
        if not self.groups:
            raise ValueError("the data set is empty; expected at least one row")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        return None

    async def take(self, version: int) -> Experience:
        places = [divmod(draw, len(self.groups)) for draw in range(self.draws, self.draws + self.batch)]
        orders = {epoch: self._order(epoch) for epoch in {epoch for epoch, _ in places}}
        self.draws += self.batch
        taken = [self.groups[orders[epoch][place]] for epoch, place in places]
        return Experience(taken, {"epoch": Stat(self.draws / len(self.groups))})

    def _order(self, epoch: int) -> list[int]:
        """A permutation of the rows for each epoch."""
        numbers = np.random.default_rng(derive(self.seed, "epoch", epoch))
        return numbers.permutation(len(self.groups)).tolist()  # type: ignore[no-any-return]

    async def publish(self, learner: Learner) -> None:
        return None

    async def state(self) -> dict[str, Any]:
        return {"draws": self.draws}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.draws = state["draws"]
