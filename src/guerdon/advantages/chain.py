"""Several estimators one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from guerdon.advantages.base import Reads
from guerdon.method import Estimator
from guerdon.types import Batch


@dataclass(frozen=True)
class Chain(Reads):
    """Runs estimators in order; needs what any of them needs, and groups as large as the most demanding wants."""

    estimators: tuple[Estimator, ...]

    def __post_init__(self) -> None:
        needs = dict.fromkeys(need for estimator in self.estimators for need in estimator.needs)
        object.__setattr__(self, "needs", tuple(needs))
        object.__setattr__(self, "min_group", max((e.min_group for e in self.estimators), default=1))

    def __call__(self, batch: Batch) -> Batch:
        for estimator in self.estimators:
            batch = estimator(batch)
        return batch
