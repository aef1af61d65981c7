"""Sources made of what already happened, or of other sources: stored episodes, a replay buffer, a mixture.

Old data is for methods that can learn off-policy: the behaviour log-probabilities and versions travel with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from guerdon.metrics import Stat, merge
from guerdon.rollouts.base import derive
from guerdon.sources import Experience, Source
from guerdon.store import read_episodes
from guerdon.types import Group

if TYPE_CHECKING:
    from guerdon.learner import Learner


@dataclass
class Saved:
    """The training episodes of a run folder, a step at a time in their order, over and over.

    Their versions become -1, before every version of this run: they count another policy's updates.
    """

    folder: Path
    draws: int = 0
    _files: list[Path] = field(init=False)

    def __post_init__(self) -> None:
        self._files = sorted((self.folder / "episodes").glob("step-*.parquet"))
        if not self._files:
            raise FileNotFoundError(f"{self.folder}/episodes holds no step-*.parquet: no run stored its episodes there")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        return None

    async def take(self, version: int) -> Experience:
        groups = read_episodes(self._files[self.draws % len(self._files)])
        for span in (span for group in groups for episode in group for span in episode.spans):
            span.version = -1
        self.draws += 1
        return Experience(groups, {"epoch": Stat(self.draws / len(self._files))})

    async def publish(self, learner: Learner) -> None:
        return None

    async def state(self) -> dict[str, Any]:
        return {"draws": self.draws}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.draws = state["draws"]


@dataclass
class Replay:
    """Every batch of another source, with `old` groups besides, drawn from the last `capacity` that came before it."""

    source: Source
    capacity: int
    old: int
    seed: int = 0
    takes: int = 0
    _kept: list[Group] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        await self.source.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.source.__aexit__(*error)

    async def take(self, version: int) -> Experience:
        fresh = await self.source.take(version)
        numbers = np.random.default_rng(derive(self.seed, "replay", self.takes))
        chosen = numbers.permutation(len(self._kept))[: self.old]
        groups = [*fresh.groups, *(self._kept[i] for i in chosen)]
        self._kept = [*self._kept, *fresh.groups][-self.capacity :]
        self.takes += 1
        stats = merge([fresh.stats, {"replayed": Stat(len(chosen), len(groups))}])
        return Experience(groups, stats, fresh.faults)

    async def publish(self, learner: Learner) -> None:
        await self.source.publish(learner)

    async def state(self) -> dict[str, Any]:
        return {"source": await self.source.state(), "kept": list(self._kept), "takes": self.takes}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.source.restore(state["source"])
        self._kept, self.takes = list(state["kept"]), state["takes"]


@dataclass
class Mixture:
    """The batches of several sources as one: each says by its own batch size how much of it there is."""

    sources: Sequence[Source]
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def __aenter__(self) -> Self:
        for source in self.sources:
            await self._stack.enter_async_context(source)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    async def take(self, version: int) -> Experience:
        taken = [await source.take(version) for source in self.sources]
        groups = [group for one in taken for group in one.groups]
        return Experience(groups, merge([one.stats for one in taken]), [fault for one in taken for fault in one.faults])

    async def publish(self, learner: Learner) -> None:
        for source in self.sources:
            await source.publish(learner)

    async def state(self) -> dict[str, Any]:
        return {"sources": [await source.state() for source in self.sources]}

    def restore(self, state: Mapping[str, Any]) -> None:
        for source, one in zip(self.sources, state["sources"], strict=True):
            source.restore(one)
