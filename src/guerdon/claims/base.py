"""What a claim is: arms that are run on the same seeds at equal budget, and expectations fixed before the run.

A file `claims/<slug>.py` holds a docstring that describes the experiment and a `CLAIM`. One word comes out, by the rule
of `word`: no other reading of the figures is offered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from guerdon.evaluation.intervals import Interval, mean_over_tasks, paired_difference

Word = Literal["holds", "does not hold", "undecided"]

Figures = Mapping[str, float]
"""Numbers of one arm on one seed, by metric."""

BUDGET = (
    "sampled_tokens",
    "trained_tokens",
    "rollouts",
    "gradient_steps",
    "environment_steps",
    "judge_calls",
    "labels",
)
"""What a budget is counted in."""


@dataclass(frozen=True)
class Measured:
    """One arm on one seed. budget: what it used, by names of `BUDGET`; what is not counted is left out."""

    figures: Figures
    budget: Figures

    def __post_init__(self) -> None:
        unknown = [name for name in self.budget if name not in BUDGET]
        if unknown:
            raise ValueError(f"budget counts {unknown}; expected names among {', '.join(BUDGET)}")


@dataclass(frozen=True)
class Expect:
    """That `metric` of `arm` lies above (or below) that of `than`, by more than `least` in its own units, >= 0.

    control: shown and judged for the reader, but no part of the claim.
    """

    metric: str
    arm: str
    than: str
    direction: Literal["higher", "lower"] = "higher"
    least: float = 0.0
    control: bool = False

    def __str__(self) -> str:
        by = f" by more than {self.least:g}" if self.least else ""
        return f"{self.metric} of {self.arm} is {self.direction} than of {self.than}{by}"


Run = Callable[[str, int, bool], Measured]
"""(arm, seed, quick) -> what came out. Everything random is drawn from the seed, the same for every arm."""


@dataclass(frozen=True)
class Claim:
    """The experiment of a method. claim: the paper's sentence in one line. least: seeds below which nothing is said.

    source: the modules whose code the result depends on, beside the claim's own; a result older than any is stale.
    """

    slug: str
    claim: str
    arms: tuple[str, ...]
    run: Run
    expect: tuple[Expect, ...]
    seeds: int = 5
    least: int = 5
    source: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for one in self.expect:
            for arm in (one.arm, one.than):
                if arm not in self.arms:
                    raise ValueError(f"claim {self.slug}: it expects something of the arm {arm!r}; it has {self.arms}")
        if not any(not one.control for one in self.expect):
            raise ValueError(f"claim {self.slug}: it expects nothing, so nothing could come out")


Results = Mapping[str, Mapping[int, Measured]]
"""What came out, by arm and seed; every arm on the same seeds."""


def difference(results: Results, one: Expect) -> Interval:
    """The paired difference arm - than over seeds, turned so that more is what is expected (Student's t, 95%)."""
    first, second = (_samples(results, arm, one.metric) for arm in (one.than, one.arm))
    found = paired_difference(first, second)
    return found if one.direction == "higher" else Interval(-found.mean, -found.high, -found.low, found.n)


def met(results: Results, one: Expect) -> Word:
    """holds: the whole interval lies beyond `least`. does not hold: all of it lies short of it. Else undecided."""
    found = difference(results, one)
    if found.low > one.least:
        return "holds"
    return "does not hold" if found.high < one.least else "undecided"


def word(results: Results, claim: Claim) -> Word:
    """holds: every expectation holds. does not hold: at least one does not. Else, and with too few seeds, undecided."""
    if min(len(seeds) for seeds in results.values()) < claim.least:
        return "undecided"
    words = [met(results, one) for one in claim.expect if not one.control]
    if "does not hold" in words:
        return "does not hold"
    return "holds" if all(each == "holds" for each in words) else "undecided"


ALIKE = 1.05
"""How many times as many tokens as another an arm may sample and still count as equal: a step is a portion."""


def unequal(used: Mapping[str, Figures]) -> str:
    """What to say where arms that sample did not sample about as many tokens; '' where they did. used: by arm."""
    sampled = {arm: one["sampled_tokens"] for arm, one in used.items() if one.get("sampled_tokens")}
    if not sampled or max(sampled.values()) <= ALIKE * min(sampled.values()):
        return ""
    least, most = (pick(sampled, key=lambda arm: sampled[arm]) for pick in (min, max))
    return f"budgets differ: {least} sampled {sampled[least]:,.0f} tokens per seed and {most} {sampled[most]:,.0f}"


def mean(results: Results, arm: str, metric: str) -> Interval:
    """Mean of a metric over the seeds of an arm, with Student's t interval."""
    return mean_over_tasks(_samples(results, arm, metric))


def metrics(results: Results) -> list[str]:
    """Every metric that some arm has, in the order in which they come."""
    return list(dict.fromkeys(name for seeds in results.values() for one in seeds.values() for name in one.figures))


def _samples(results: Results, arm: str, metric: str) -> dict[str, Sequence[float]]:
    missing = [seed for seed, one in results[arm].items() if metric not in one.figures]
    if missing:
        raise ValueError(f"arm {arm!r} has no {metric!r} on seed {missing[0]}; it has {list(results[arm])}")
    return {str(seed): [one.figures[metric]] for seed, one in results[arm].items()}
