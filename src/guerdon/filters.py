"""What a group must pass to be trained on: frozen values, Group -> Group (perhaps smaller) or None (dropped).

Filters that look at returns have `weights`, the factor of each reward in the return; `weigh` sets it to the run's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from guerdon.advantages.group import has_signal
from guerdon.advantages.segments import Paths, paths
from guerdon.collate import collate
from guerdon.method import Filter
from guerdon.types import EMPTY, Group


@dataclass(frozen=True)
class Informative:
    """Keeps groups whose path returns differ by more than rounding, as `advantages.group.has_signal` has it.

    ignore: names of rewards that do not decide, such as a length penalty.
    """

    ignore: tuple[str, ...] = ()
    weights: Mapping[str, float] = EMPTY

    def __call__(self, group: Group) -> Group | None:
        silent = dict.fromkeys(self.ignore, 0.0)
        return group if bool(has_signal(_paths(group, {**self.weights, **silent})).any()) else None


@dataclass(frozen=True)
class Band:
    """Keeps groups whose mean path return lies in [low, high]: neither too hard nor too easy."""

    low: float
    high: float
    weights: Mapping[str, float] = EMPTY

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ValueError(f"the band is [{self.low}, {self.high}]; expected low <= high")

    def __call__(self, group: Group) -> Group | None:
        mean = float(_paths(group, self.weights).returns.mean())
        return group if self.low <= mean <= self.high else None


def not_truncated(group: Group) -> Group | None:
    """Drops episodes that were cut by the token limit, from the loss and from the group's statistics alike."""
    whole = [episode for episode in group if episode.stop != "length"]
    return whole or None


@dataclass(frozen=True)
class Fresh:
    """Drops groups with a sampled span more than `max_lag` versions behind `version()`, the learner's current one."""

    max_lag: int
    version: Callable[[], int]

    def __call__(self, group: Group) -> Group | None:
        oldest = min((span.version for episode in group for span in episode.spans if span.sampled), default=None)
        return group if oldest is None or self.version() - oldest <= self.max_lag else None


def weigh(filters: Sequence[Filter], weights: Mapping[str, float]) -> tuple[Filter, ...]:
    """The filters with the run's reward weights set on those that look at returns and have none of their own."""
    return tuple(_weighed(each, weights) for each in filters)


def _weighed(each: Any, weights: Mapping[str, float]) -> Filter:
    return replace(each, weights=weights) if getattr(each, "weights", None) == EMPTY else each  # type: ignore[no-any-return]


def _paths(group: Group, weights: Mapping[str, float]) -> Paths:
    return paths(collate([group], weights))
