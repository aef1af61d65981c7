"""What a comparison found: figures over seeds with intervals, differences in pairs, and curves against tokens.

The unit is the seed: an interval says how much another seed of training would differ, on the same held-out items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from guerdon.compare.base import Arm, Comparison
from guerdon.compare.jobs import DECODES, START, Job, place_of, result_of
from guerdon.evaluation.evaluate import as_dict
from guerdon.evaluation.intervals import Interval, mean_over_tasks, paired_difference
from guerdon.evaluation.protocol.metrics import avg_at_m
from guerdon.evaluation.protocol.paired import shared
from guerdon.evaluation.protocol.store import read_evaluated

USED = ("sampled_tokens", "trained_tokens", "rollouts", "gradient_steps", "judge_calls", "judge_tokens")

Result = Mapping[str, Any]
Points = list[tuple[float, Interval]]
"""(x, what it is there) with x rising."""


@dataclass(frozen=True)
class Found:
    """results: of each arm by seed, for the seeds that all arms have done. start: of the policy they begin with."""

    comparison: Comparison
    start: Result
    results: Mapping[str, Mapping[int, Result]]

    @property
    def seeds(self) -> list[int]:
        return sorted(next(iter(self.results.values())))

    @property
    def first(self) -> Arm:
        """The arm that the others are compared with."""
        return self.comparison.arms[0]

    @cached_property
    def metrics(self) -> list[str]:
        """Figures that every arm has on every seed, in their order."""
        all_of = [one["evaluation"]["figures"] for seeds in self.results.values() for one in seeds.values()]
        return [name for name in all_of[0] if all(name in one for one in all_of)]

    @cached_property
    def telling(self) -> list[str]:
        """Those of the figures that are not the same throughout, the start included; accuracy always."""
        start = self.start["evaluation"]["figures"]
        seen = {
            name: {start.get(name)} | {v for arm in self.comparison.arms for (v,) in self._values(arm, name).values()}
            for name in self.metrics
        }
        return [name for name in self.metrics if len(seen[name]) > 1 or name == "accuracy"]

    def mean(self, arm: Arm, metric: str) -> Interval:
        return mean_over_tasks(self._values(arm, metric))

    def difference(self, arm: Arm, metric: str) -> Interval:
        """The arm less the first one, seed by seed."""
        return paired_difference(self._values(self.first, metric), self._values(arm, metric))

    def used(self, arm: Arm) -> dict[str, float]:
        """What the arm used per seed, of what any arm used, and by how many tokens it went over the budget."""
        found = {name: fmean(one["used"][name] for one in self._of(arm)) for name in USED}
        anybody = {
            name for seeds in self.results.values() for one in seeds.values() for name in USED if one["used"][name]
        }
        shown = {name: value for name, value in found.items() if name in anybody}
        return {**shown, "excess": fmean(one["excess"] for one in self._of(arm))}

    def early(self, arm: Arm) -> dict[int, str]:
        """Seeds on which the arm ended before its budget, and why."""
        return {seed: one["ended"] for seed, one in self.results[arm.spec].items() if one["ended"] != "budget"}

    @cached_property
    def curves(self) -> list[str]:
        """Figures that every look at every arm had."""
        looks = [
            self.start["first"],
            *(e["figures"] for a in self.comparison.arms for r in self._of(a) for e in r["curve"]),
        ]
        return [name for name in looks[0] if all(name in one for one in looks)]

    def curve(self, arm: Arm, metric: str) -> Points:
        """A figure against sampled tokens: at each mark that of the first look after it, in the mean over seeds."""
        start = self.start["first"][metric]
        points: Points = [(0.0, Interval(start, start, start, 1))]
        for mark in self.comparison.marks:
            values = {str(s): [_at(one["curve"], mark)[metric]] for s, one in self.results[arm.spec].items()}
            points.append((mark, mean_over_tasks(values)))
        return points

    def saturation(self, arm: Arm, kind: str) -> Points:
        """pass@k or maj@k against k, at the end. kind: 'pass' or 'maj'."""
        found = [one["evaluation"]["saturation"] for one in self._of(arm)]
        return [
            (row[0]["k"], mean_over_tasks({str(i): [point[kind]] for i, point in enumerate(row)}))
            for row in zip(*found, strict=True)
        ]

    def tokens(self, arm: Arm) -> dict[int, float]:
        """By k: the tokens that k decodes of an item cost, in the mean."""
        found = [one["evaluation"]["saturation"] for one in self._of(arm)]
        return {row[0]["k"]: fmean(point["tokens"] for point in row) for row in zip(*found, strict=True)}

    def _of(self, arm: Arm) -> list[Result]:
        return list(self.results[arm.spec].values())

    def _values(self, arm: Arm, metric: str) -> dict[str, Sequence[float]]:
        return {str(seed): [one["evaluation"]["figures"][metric]] for seed, one in self.results[arm.spec].items()}


def _at(looks: Sequence[Mapping[str, Any]], mark: float) -> Mapping[str, float]:
    """The figures of the first look at or after a mark; of the last where the arm ended before."""
    figures: Mapping[str, float] = next((e["figures"] for e in looks if e["tokens"] >= mark), looks[-1]["figures"])
    return figures


def read(folder: Path, comparison: Comparison) -> Found | None:
    """What is there of a comparison: the seeds that all arms have done. An arm that has done none is left out.

    None before any arm has done a seed.
    """
    start = result_of(folder, comparison, Job(""))
    done = {arm.spec: _done(folder, comparison, arm) for arm in comparison.arms}
    arms = tuple(arm for arm in comparison.arms if done[arm.spec])
    seeds = sorted(set[int].intersection(*(set(done[arm.spec]) for arm in arms))) if arms else []
    if start is None or not seeds:
        return None
    results = {arm.spec: {seed: done[arm.spec][seed] for seed in seeds} for arm in arms}
    return Found(replace(comparison, arms=arms), start, results)


def _done(folder: Path, comparison: Comparison, arm: Arm) -> dict[int, Result]:
    seeds = [int(path.name.removeprefix("seed-")) for path in place_of(folder, arm, 0).parent.glob("seed-*")]
    found = {seed: result_of(folder, comparison, Job(arm.spec, seed)) for seed in seeds}
    return {seed: one for seed, one in found.items() if one is not None}


def as_record(found: Found, folder: Path) -> dict[str, Any]:
    """Everything there is to keep, as plain data."""
    return {
        "comparison": found.comparison.as_dict(),
        "seeds": found.seeds,
        "start": found.start["evaluation"],
        "arms": {arm.spec: _arm(found, arm, folder) for arm in found.comparison.arms},
    }


def _arm(found: Found, arm: Arm, folder: Path) -> dict[str, Any]:
    start = read_evaluated(folder / f"{START}.jsonl")
    ends = [read_evaluated(place_of(folder, arm, seed) / DECODES) for seed in found.seeds]
    average, both = avg_at_m(ends), [shared(start, end) for end in ends]
    return {
        "metrics": {name: as_dict(found.mean(arm, name)) for name in found.metrics},
        "difference": {name: as_dict(found.difference(arm, name)) for name in found.metrics}
        if arm != found.first
        else {},
        "errors": {"items": average.items, "seeds": average.seeds, "both": average.both},
        "shared_with_start": {
            "n": fmean(one.n for one in both),
            "start": fmean(one.first for one in both),
            "arm": fmean(one.second for one in both),
        },
        "used_per_seed": found.used(arm),
        "ended_early": found.early(arm),
        "curves": {name: [{"tokens": x, **as_dict(y)} for x, y in found.curve(arm, name)] for name in found.curves},
        "pass_at_k": [{"k": k, **as_dict(y)} for k, y in found.saturation(arm, "pass")],
        "maj_at_k": [{"k": k, **as_dict(y)} for k, y in found.saturation(arm, "maj")],
        "tokens_at_k": found.tokens(arm),
        "seeds": {str(seed): one["evaluation"]["figures"] for seed, one in found.results[arm.spec].items()},
    }
