"""The learner: who is trained on a batch of experience, and how one update goes.

It holds an engine per role and a method, and is blind to which method it is: split the groups by role, lay them out
flat, fill the streams that were asked for, estimate advantages, take gradient steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from guerdon.advantages.segments import segments
from guerdon.collate import by_role, collate, minibatches
from guerdon.engines.base import Engine
from guerdon.engines.local import gap
from guerdon.method import Memory, Method, Term
from guerdon.metrics import Stat, Stats, Total, merge, over
from guerdon.recall import Recall
from guerdon.rollouts.base import derive
from guerdon.types import EMPTY, Batch, Group

RECALL = "recall.pt"
"""What frozen roles said, in a checkpoint: asked again in other company they would differ in the last bits."""


class GapTooLarge(RuntimeError):
    """Sampler and engine disagree about the same weights; nothing learned from such data can be trusted."""


@dataclass(frozen=True)
class Lesson:
    """What one engine learns from in an update, as a role: a prepared batch and the terms of the loss."""

    role: str
    engine: Engine
    batch: Batch
    terms: tuple[Term, ...]


@dataclass
class Learner:
    """engines: by role; 'policy' is always there, a role that shares weights has no engine of its own.

    weights: factor of each reward in the return. max_gap: largest mean |difference| in nats between the sampler's and
    the engine's log-probabilities on unchanged weights before the run stops; 0 checks nothing.
    """

    method: Method
    engines: Mapping[str, Engine]
    weights: Mapping[str, float] = EMPTY
    max_gap: float = 0.0
    seed: int = 0
    version: int = 0
    last: Mapping[str, Batch] = field(default_factory=dict)
    """The batches of the latest update by role, with all their streams: what was really trained on."""
    memory: Memory = EMPTY
    """What the method's `adaptive` remembers; empty before its first batch."""
    recall: Recall = field(default_factory=Recall)
    """What frozen roles said of rows that come again."""

    async def update(self, groups: Sequence[Group]) -> Stats:
        """One update on these groups; afterwards the version is one higher."""
        given = {role: collate(gs, self.weights) for role, gs in by_role(groups).items()}
        batches = {role: self.prepare(role, batch) for role, batch in given.items()}
        self.last = batches
        stats = [_named(_summary(batch, given[role].reward), role) for role, batch in batches.items()]
        stats.append(self._check_gap(batches["policy"]))
        for epoch in range(self.method.epochs):
            for lessons in self._lessons(batches, epoch):
                stats.append(self._gradient_step(lessons))
        stats.append(_remembered(self.memory))
        self.version += 1
        self._refresh()
        return merge(stats)

    def prepare(self, role: str, batch: Batch) -> Batch:
        """Fill what the rule reads, estimate the advantages, and let the method adapt to the batch."""
        estimator, terms = self._rule(role)
        adaptive = self.method.adaptive if role == "policy" else None
        readers = [*(term.objective for term in terms), *(one for one in (estimator, adaptive) if one)]
        batch = self.fill(batch, {name for one in readers for name in one.needs}, self._engine(role))
        batch = estimator(batch) if estimator else batch
        if adaptive:
            batch, self.memory = adaptive(batch, self.memory or adaptive.start())
        return batch

    def fill(self, batch: Batch, needs: set[str], engine: Engine) -> Batch:
        """Streams that only a model gives: `old` (this engine's log-probs now), those of roles by their name, and a
        reward model's scores now by the name of their head."""
        sources = {"old": (engine, "logp")}
        sources |= {head: (engine, head) for head in (self.method.scores.names if self.method.scores else ())}
        for role, want in {"ref": "logp", "snapshot": "logp", "value": "value"}.items():
            if role in self.engines:
                sources[role] = (self.engines[role], want)
        for name in sorted(needs):
            if name in sources and not batch.has(name):
                batch = batch.put(**{name: self._asked(name, batch, *sources[name])})
        return batch

    def _asked(self, name: str, batch: Batch, engine: Engine, want: str) -> Tensor:
        """What an engine says of the batch. [N]. One that never changes is asked once about a text that comes again."""

        def ask(part: Batch) -> Tensor:
            return engine.forward(part, (want,))[want]

        role = self.method.roles.get(name)
        constant = role is not None and role.frozen and not role.refresh and not role.shares
        return self.recall(name, batch, ask) if constant else ask(batch)

    def _refresh(self) -> None:
        """Roles that follow the policy take over its weights when that is due."""
        for role, spec in self.method.roles.items():
            if spec.refresh and self.version % spec.refresh == 0:
                self.engines[role].follow(self.engines["policy"])

    def _rule(self, role: str) -> tuple:
        if role == "policy":
            return self.method.estimator, self.method.terms
        if role not in self.method.roles:
            raise KeyError(f"episodes of role {role!r}, but the method has roles {['policy', *self.method.roles]}")
        return self.method.roles[role].estimator, self.method.roles[role].terms

    def _owner(self, role: str) -> str:
        """The role whose weights a role's are."""
        return (self.method.roles[role].shares if role in self.method.roles else None) or role

    def _engine(self, role: str) -> Engine:
        return self.engines[self._owner(role)]

    def _lessons(self, batches: Mapping[str, Batch], epoch: int) -> list[list[Lesson]]:
        """Per gradient step: who learns from what. A value model learns from the policy's batch."""
        steps: list[list[Lesson]] = [[] for _ in range(self.method.minibatches)]
        seed = derive(self.seed, self.version, epoch)
        learners = [(role, batches[role]) for role in batches]
        learners += [(r, batches["policy"]) for r, spec in self.method.roles.items() if spec.head == "value"]
        for role, batch in learners:
            terms = self._rule(role)[1]
            for step, rows in enumerate(minibatches(batch, self.method.minibatches, seed) if terms else []):
                part = batch.select(rows)
                if role == "policy" and epoch == 0 and step == 0 and self._samples(batch):
                    part = part.put(fresh=self._fresh(part))
                steps[step].append(Lesson(role, self._engine(role), part, terms))
        return [lessons for lessons in steps if lessons]

    def _gradient_step(self, lessons: Sequence[Lesson]) -> Stats:
        stats = [_named(one.engine.forward_backward(one.batch, one.terms), one.role) for one in lessons]
        self._refuse_gap(merge(stats))
        owners = dict.fromkeys(self._owner(lesson.role) for lesson in lessons)
        stats += [_named(self.engines[owner].step(), owner) for owner in owners]
        return _of_one_step(merge(stats))

    def _fresh(self, batch: Batch) -> Tensor:
        """[N] bool: tokens of sequences that were sampled by these very weights, from the prompt that is trained on."""
        sequences = segments(batch.seq)
        drawn = sequences.spread(sequences.sum((batch.mask & (batch.behavior != 0)).long()) > 0)
        hinted = batch.extra.get("hinted", torch.zeros_like(batch.mask))
        return drawn & (batch.version == self.version) & (hinted == 0)

    def _samples(self, batch: Batch) -> bool:
        return bool((batch.mask & (batch.behavior != 0)).any())

    def _check_gap(self, batch: Batch) -> Stats:
        """Before anything is learned, at the very first update, on the whole batch."""
        if self.version or not self.max_gap or not self._samples(batch):
            return {}
        fresh = batch.put(fresh=self._fresh(batch))
        stats = gap(self.engines["policy"].forward(fresh, ("logp",))["logp"], fresh)
        self._refuse_gap(stats)
        return stats

    def _refuse_gap(self, stats: Stats) -> None:
        if not self.max_gap or "gap/mean" not in stats or not stats["gap/mean"].value > self.max_gap:
            return
        raise GapTooLarge(
            f"on unchanged weights the trainer's log-probabilities differ from the sampler's by "
            f"{stats['gap/mean'].value:.2g} nats on average"
            f" (largest {stats['gap/max'].value:.2g}; limit {self.max_gap:g})."
            " Likely causes: a temperature, truncation or logits hook that the trainer does not see; another chat"
            " template or dtype on one side; stale weights or caches in the sampler; dropout; a broken attention mask."
            " Raise max_gap only if the difference is known and corrected for."
        )

    def save(self, folder: Path) -> None:
        for role, engine in self.engines.items():
            engine.save(folder / role)
        torch.save({"version": self.version, "memory": dict(self.memory)}, folder / "learner.pt")
        if self.recall.kept:
            torch.save(self.recall.state(), folder / RECALL)

    def restore(self, folder: Path) -> None:
        for role, engine in self.engines.items():
            engine.restore(folder / role)
        state = torch.load(folder / "learner.pt", weights_only=True)
        self.version, self.memory = state["version"], state["memory"]
        if (folder / RECALL).is_file():
            self.recall.restore(torch.load(folder / RECALL, weights_only=True))


def _named(stats: Stats, role: str) -> Stats:
    """Numbers of the policy by their own name, those of another role under its name."""
    return stats if role == "policy" else {f"{role}/{name}": stat for name, stat in stats.items()}


def _remembered(memory: Memory) -> Stats:
    """Each number of a memory."""
    return {f"{name}/{i}": over(one[None]) for name, kept in memory.items() for i, one in enumerate(kept.reshape(-1))}


def _of_one_step(stats: Stats) -> Stats:
    """Sums over a gradient step as one sample each, so that an update of several steps shows their mean."""
    return {name: Stat(stat.value) if isinstance(stat, Total) else stat for name, stat in stats.items()}


def _summary(batch: Batch, reward: Tensor) -> Stats:
    """What every batch is described by, whatever the method. reward: [N] as given, before any estimator."""
    sequences, dense = torch.unique(batch.seq, return_inverse=True)
    zeros = torch.zeros(len(sequences))
    returns = zeros.index_add(0, dense, reward)
    lengths = zeros.index_add(0, dense, batch.mask.float())
    stats: Stats = {"return": over(returns), "length": over(lengths)}
    if batch.advantage is not None:
        live = zeros.index_add(0, dense, (batch.advantage != 0).float()) > 0
        groups = torch.unique(batch.group)
        signal = torch.isin(groups, batch.group[live[dense]])
        stats["groups/no_signal"] = over(1.0 - signal.float())
    return stats
