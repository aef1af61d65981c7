"""What can go wrong with rewards while a run looks well, as checks on the record of its last steps.

Each check takes records and limits and says what it finds; none keeps anything, none raises. Shares of groups and of
completions are compared with their limits by Wilson's interval with groups as units, since the completions of a group
are alike; whatever compares completions does so within groups, so that the difficulty of tasks plays no part.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np

from guerdon.advantages.group import TOLERANCE
from guerdon.evaluation.intervals import wilson
from guerdon.types import EMPTY

Kind = Literal[
    "absent", "constant", "dominant", "length", "diverging", "failed", "unscored", "truncated", "no_signal", "jump"
]


@dataclass(frozen=True)
class Alarm:
    """Something to look at. about: the reward or metric it is about. sentence: what was seen, over what, what to do.

    evidence: the numbers behind the sentence, by name.
    """

    kind: Kind
    about: str
    sentence: str
    evidence: Mapping[str, float]
    step: int


@dataclass(frozen=True)
class Limits:
    """When to speak up. Windows are in steps, shares in 0 to 1.

    window: steps that are looked at together; most alarms need half of it, a constant reward the whole.
    recent: steps that are compared with those before them in the window, for a jump.
    dominant: share of the variance of returns within groups that one reward may make up while others count.
    scale: how many times wider than any other the values of the first reward may spread while it dominates.
    correlation: rank correlation of reward and length within groups, either sign; `correlation_floor` must lie outside
    its 99.9% interval.
    trend: observations of `watch_metric` that are looked at together; certain: standard deviations of Kendall's
    statistic by which it must have fallen (and the return risen by at least 2). They are wider for what drifts.
    failed: share of verdicts in which the verifier itself failed, and of completions without any score.
    truncated: share of completions cut by the length limit. no_signal: share of groups whose returns are equal.
    jump: rise of the share of `cannot_tell`, `no_answer` or `timed_out`; the 99.9% intervals must not overlap.
    watch_metric: a metric, or a reward of weight 0, that should not fall while the return rises; '' for none.
    may_be_constant, may_follow_length: rewards for which that is what they are for.
    """

    window: int = 20
    recent: int = 5
    dominant: float = 0.95
    scale: float = 5.0
    correlation: float = 0.5
    correlation_floor: float = 0.3
    trend: int = 40
    certain: float = 3.5
    failed: float = 0.1
    truncated: float = 0.5
    no_signal: float = 0.9
    jump: float = 0.15
    watch_metric: str = ""
    may_be_constant: tuple[str, ...] = ("overlong",)
    may_follow_length: tuple[str, ...] = ("overlong",)

    def __post_init__(self) -> None:
        if not 1 <= self.recent <= self.window / 2:
            raise ValueError(f"recent is {self.recent}; expected 1 to half of window ({self.window})")
        if self.trend < FEWEST:
            raise ValueError(f"trend is {self.trend}; expected at least {FEWEST} observations")
        for name in ("dominant", "correlation", "failed", "truncated", "no_signal", "jump"):
            if not 0 < getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; expected a share above 0 and below 1")
        if not 0 <= self.correlation_floor < self.correlation:
            raise ValueError(f"correlation_floor is {self.correlation_floor}; expected 0 to below {self.correlation}")


FEWEST = 10
"""Observations of a metric below which no trend is claimed."""


class Seen(TypedDict):
    """One counting reward in one step: episodes it applies to, lowest and highest value there, covariance of what it
    adds to the return with the return, and sums of squares and products of ranks of value (x) and length (y) over
    groups in which both vary, with their degrees of freedom; all but the extremes within groups."""

    n: int
    low: float
    high: float
    covariance: float
    xx: float
    xy: float
    yy: float
    free: int


class Record(TypedDict):
    """One step. variance: sum of squares of returns within groups. shares: of completions or groups, by metric."""

    step: int
    groups: int
    episodes: int
    mean: float
    variance: float
    rewards: dict[str, Seen]
    shares: dict[str, float]


Point = tuple[int, float, float]
"""Step, return since the point before, and the watched metric."""


@dataclass(frozen=True)
class Finding:
    """What a check says now: whether it is so (`seen`), or clearly not (`clear`); between the two nothing changes."""

    kind: Kind
    about: str
    seen: bool
    clear: bool
    sentence: str
    evidence: Mapping[str, float]


def check(
    records: Sequence[Record], points: Sequence[Point], limits: Limits, reached: Mapping[str, float] = EMPTY
) -> Iterator[Finding]:
    """Everything there is to say about the last `window` records and the last `trend` points, oldest first.

    reached: the best value that the run has seen of each reward whose values have varied in it.
    """
    if len(records) >= max(2, limits.window // 2):
        names = list(records[-1]["rewards"])
        for name in names:
            yield from _constant(records, name, limits, reached.get(name))
            yield from _length(records, name, limits)
        yield from _dominant(records, names, limits)
        yield from _shares(records, limits)
        yield from _jumps(records, limits)
    yield from _diverging(points, limits)


def _constant(records: Sequence[Record], name: str, limits: Limits, best: float | None) -> Iterator[Finding]:
    """A reward that has varied and now always has its best value is learned, not broken."""
    if len(records) < limits.window:
        return
    seen = [one for record in records if (one := record["rewards"].get(name))]
    episodes = sum(record["episodes"] for record in records)
    given = [one for one in seen if one["n"]]
    number = sum(one["n"] for one in given)
    yield Finding(
        "absent",
        name,
        seen=not number and episodes > 0,
        clear=number > 0,
        sentence=f"reward {name!r} applied to none of {episodes} completions of the last {len(records)} steps, so it "
        "teaches nothing; look at what it returns for a stored completion",
        evidence={"episodes": episodes, "steps": len(records)},
    )
    if not given or name in limits.may_be_constant:
        return
    low, high = min(one["low"] for one in given), max(one["high"] for one in given)
    varied = sum(not same(one["low"], one["high"]) for one in given) / len(given)
    yield Finding(
        "constant",
        name,
        seen=same(low, high) and (best is None or not same(min(low, best), max(high, best))),
        clear=varied >= 0.25,
        sentence=f"reward {name!r} was {low:.4g} in all {number} scores of the last {len(records)} steps, so nothing "
        "can be learned from it; look whether it reads the replies as they are, or whether its tasks are all too easy "
        "or too hard",
        evidence={"value": low, "scores": number, "steps": len(records)},
    )


def same(low: float, high: float) -> bool:
    """Whether two values differ by no more than rounding."""
    return high - low <= TOLERANCE * max(1.0, abs(low), abs(high))


def _dominant(records: Sequence[Record], names: Sequence[str], limits: Limits) -> Iterator[Finding]:
    variance = sum(record["variance"] for record in records)
    if len(names) < 2 or not variance > 0:
        return
    width = {name: _width(records, name) for name in names}
    for place, name in enumerate(names):
        share = sum(record["rewards"][name]["covariance"] for record in records if name in record["rewards"]) / variance
        others = max(width[other] for other in names if other != name)
        wider = others > 0 and width[name] > limits.scale * others
        yield Finding(
            "dominant",
            name,
            seen=share > limits.dominant and (place > 0 or wider),
            clear=share < limits.dominant - 0.05,
            sentence=f"reward {name!r} made up {share:.0%} of the differences in return within groups over the last "
            f"{len(records)} steps (its values span {width[name]:.3g}, the others' at most {others:.3g}), so the other "
            "rewards hardly count; look at the weights and at the scale of its values",
            evidence={"share": share, "span": width[name], "other_span": others, "steps": len(records)},
        )


def _width(records: Sequence[Record], name: str) -> float:
    given = [one for record in records if (one := record["rewards"].get(name)) and one["n"]]
    return max(one["high"] for one in given) - min(one["low"] for one in given) if given else 0.0


def _length(records: Sequence[Record], name: str, limits: Limits) -> Iterator[Finding]:
    seen = [one for record in records if (one := record["rewards"].get(name))]
    xx, xy, yy = (sum(one[key] for one in seen) for key in ("xx", "xy", "yy"))  # type: ignore[literal-required]
    free = sum(one["free"] for one in seen)
    if name in limits.may_follow_length or free < 30 or not (xx > 0 and yy > 0):
        return
    r = xy / math.sqrt(xx * yy)
    half = 3.291 / math.sqrt(free - 2)  # Fisher's z, 99.9%, one mean fitted per group
    z = math.atanh(max(-0.999999, min(0.999999, r)))
    low, high = math.tanh(z - half), math.tanh(z + half)
    near = max(low, -high, 0.0)
    yield Finding(
        "length",
        name,
        seen=abs(r) > limits.correlation and near > limits.correlation_floor,
        clear=abs(r) < limits.correlation - 0.1,
        sentence=f"reward {name!r} goes with {'more' if r > 0 else 'fewer'} tokens: rank correlation {r:.2f} "
        f"(99.9% interval {low:.2f} to {high:.2f}) within groups, so at equal difficulty, over the last {len(records)} "
        f"steps; read some of the {'longest' if r > 0 else 'shortest'} completions with a high reward",
        evidence={"correlation": r, "low": low, "high": high, "free": free, "steps": len(records)},
    )


_SHARES: Mapping[str, tuple[Kind, str]] = {
    "unscored": ("unscored", "of completions got no score and were left out of learning; read the reasons of verdicts"),
    "truncated": (
        "truncated",
        "of completions were cut by the length limit; allow more tokens, or look whether replies end at all",
    ),
    "groups/no_signal": (
        "no_signal",
        "of groups had equal returns and taught nothing; the tasks may be too easy or too hard, or a reward too coarse",
    ),
}


def _shares(records: Sequence[Record], limits: Limits) -> Iterator[Finding]:
    for metric in {metric: None for record in records for metric in record["shares"]}:
        verdict, _, status = metric.rpartition("/")
        if verdict.startswith("verdict/") and status == "failed":
            about = verdict.removeprefix("verdict/")
            words = f"of the verdicts of {about!r} were failures of the verifier itself; read their reasons"
            yield _above(records, metric, ("failed", words), about, limits.failed)
        elif metric in _SHARES:
            limit = {"unscored": limits.failed, "truncated": limits.truncated}.get(metric, limits.no_signal)
            yield _above(records, metric, _SHARES[metric], metric, limit)


def _above(records: Sequence[Record], metric: str, told: tuple[Kind, str], about: str, limit: float) -> Finding:
    share, groups = _share(records, metric)
    low = wilson(share * groups, groups).low
    return Finding(
        told[0],
        about,
        seen=low > limit,
        clear=share < 0.75 * limit,
        sentence=f"{share:.0%} {told[1]} (over the last {len(records)} steps; the limit is {limit:.0%})",
        evidence={"share": share, "low": low, "limit": limit, "groups": groups, "steps": len(records)},
    )


def _share(records: Sequence[Record], metric: str) -> tuple[float, int]:
    """A share over several steps, weighed by their groups, and how many groups that were."""
    groups = sum(record["groups"] for record in records) or 1
    total = sum(record["groups"] * record["shares"].get(metric, 0.0) for record in records)
    return min(1.0, max(0.0, total / groups)), groups


_JUMPING = ("cannot_tell", "no_answer", "timed_out")


def _jumps(records: Sequence[Record], limits: Limits) -> Iterator[Finding]:
    before, now = records[: -limits.recent], records[-limits.recent :]
    if len(before) < limits.recent:
        return
    for metric in {metric: None for record in records for metric in record["shares"]}:
        verdict, _, status = metric.rpartition("/")
        if not verdict.startswith("verdict/") or status not in _JUMPING:
            continue
        about = metric.removeprefix("verdict/")
        (was, groups), (share, new) = _share(before, metric), _share(now, metric)
        apart = wilson(share * new, new, 0.999).low > wilson(was * groups, groups, 0.999).high
        yield Finding(
            "jump",
            about,
            seen=share - was > limits.jump and apart,
            clear=share - was < limits.jump / 2,
            sentence=f"verdicts {status!r} of {verdict.removeprefix('verdict/')!r} rose from {was:.0%} to {share:.0%} "
            f"(last {len(now)} steps against the {len(before)} before); read such completions: the policy may have "
            "left the format, or found what the verifier cannot read",
            evidence={"before": was, "now": share, "groups_before": groups, "groups_now": new},
        )


def _diverging(points: Sequence[Point], limits: Limits) -> Iterator[Finding]:
    if len(points) < FEWEST:
        return
    steps, returns, metric = np.array(points, np.float64).T
    up, down = _kendall(steps, returns), _kendall(steps, metric)
    rise, fall = (_slope(steps, values) * (steps[-1] - steps[0]) for values in (returns, metric))
    name = limits.watch_metric
    yield Finding(
        "diverging",
        name,
        seen=up > 2 and rise > 0 and down < -limits.certain and fall < 0,
        clear=down > -1 or up < 0,
        sentence=f"the return rose by {rise:.3g} while {name!r} fell by {-fall:.3g} from step {steps[0]:.0f} to step "
        f"{steps[-1]:.0f}: the policy may be learning to please the reward instead of to solve its tasks; read the "
        "completions with the highest reward",
        evidence={"rise": rise, "fall": -fall, "z_return": up, "z_metric": down, "points": len(points)},
    )


def _kendall(steps: np.ndarray, values: np.ndarray) -> float:
    """Standard deviations by which the order of values in time differs from no trend (Mann 1945). steps, values: [n]

    Neighbours that are alike say less than independent ones: with correlation r between what the trend leaves of them
    (corrected for its bias in short series), the variance is (1 + r) / (1 - r) times larger (Bayley & Hammersley 1946).
    """
    n = len(values)
    s = float(np.sign(values[None, :] - values[:, None])[np.triu_indices(n, 1)].sum())
    left = values - _slope(steps, values) * steps
    left = left - left.mean()
    size = float((left**2).sum())
    r = float((left[1:] * left[:-1]).sum()) / size if size > 1e-12 * float((values**2).sum()) else 0.0
    r = min(max(r + (1 + 4 * r) / n, 0.0), 0.9)
    return float(s - np.sign(s)) / math.sqrt(n * (n - 1) * (2 * n + 5) / 18 * (1 + r) / (1 - r))


def _slope(steps: np.ndarray, values: np.ndarray) -> float:
    """Median slope over all pairs (Sen 1968), per step."""
    first, second = np.triu_indices(len(values), 1)
    apart = steps[second] != steps[first]
    slopes = (values[second] - values[first])[apart] / (steps[second] - steps[first])[apart]
    return float(np.median(slopes)) if len(slopes) else 0.0
