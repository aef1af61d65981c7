"""Rewards made of rewards: sums, products, gates, clamps, group normalisation. Each is a `Reward` itself, so they nest.

A run adds up its rewards by their weights anyway; these are for what a sum cannot say, and for use inside each other.

What a combined score keeps of its parts
`parts`     the value that each part gave (before weights), by its name; parts of parts as 'part/inner'
`verdict`   that of the first part which gave one, so put first what decides; the others are told in its reason
`episodes`  what judges generated

A part without a value
A None without a verdict says that the part does not apply. `missing` decides: 'skip' goes on as if the part were not
there (nothing left: unscored), 'propagate' leaves the episode unscored, 'error' raises. A None that has a verdict (a
verifier that failed, a judge that could not be read) is no abstention: something had to be judged and was not, so the
episode is unscored whatever `missing` says, and no failure turns into a zero.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from guerdon.advantages.group import TOLERANCE
from guerdon.judges.outcome import JudgeStopped
from guerdon.rewards.base import Reward
from guerdon.rewards.fault import RewardFault
from guerdon.types import Group, Score, Verdict

if TYPE_CHECKING:
    from guerdon.rollouts.base import Context
    from guerdon.types import FloatArray

Missing = Literal["skip", "propagate", "error"]
MISSING: tuple[Missing, ...] = ("skip", "propagate", "error")

Row = Sequence[Score | None]
"""What the parts say about one episode, in their order; None where one is skipped."""
Rule = Callable[[Sequence[Row]], list[Score]]
"""The combined score of each row: its value, spans and tokens."""


def weighted_sum(*rewards: Reward, name: str = "sum", weight: float = 1.0, missing: Missing = "skip") -> Combination:
    """Sum over parts of the part's own weight times its value; values of spans and tokens are added place by place.

    Values [1, None, 0, None] and [None, 2, None, None] with weights 1 and 1 give [1, 2, 0, unscored].
    """
    factors = tuple(reward.weight for reward in rewards)
    return Combination(name, rewards, partial(_each, partial(_sum, factors)), weight, missing)


def product(*rewards: Reward, name: str = "product", weight: float = 1.0, missing: Missing = "skip") -> Combination:
    """Product of the parts' values. RewardFault where a part scores spans or tokens: they have no product."""
    _unweighted(name, rewards)
    return Combination(name, rewards, partial(_each, _product), weight, missing, plain=True)


def gate(
    reward: Reward,
    where: Reward,
    threshold: float = 0.5,
    otherwise: float | None = 0.0,
    *,
    name: str | None = None,
    weight: float = 1.0,
    missing: Missing = "propagate",
) -> Combination:
    """What `reward` says where `where` is worth at least `threshold`; elsewhere `otherwise` (None: unscored).

    With missing='skip' a condition that does not apply is no condition. Both are asked about every episode.
    """
    name = name or f"{reward.name}_where_{where.name}"
    _unweighted(name, (reward, where))
    rule = partial(_gate, threshold, otherwise)
    return Combination(name, (reward, where), partial(_each, rule), weight, missing)


def clamp(
    reward: Reward,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    name: str | None = None,
    weight: float = 1.0,
    missing: Missing = "skip",
) -> Combination:
    """The value kept within [low, high]. RewardFault where spans or tokens are scored. ValueError: low above high."""
    if not low <= high:
        raise ValueError(f"clamp({reward.name!r}): the bounds are [{low}, {high}]; expected low <= high")
    name = name or f"{reward.name}_clamped"
    _unweighted(name, (reward,))
    return Combination(name, (reward,), partial(_each, partial(_clamp, low, high)), weight, missing, plain=True)


def normalise(
    reward: Reward, *, name: str | None = None, weight: float = 1.0, missing: Missing = "skip"
) -> Combination:
    """(value - mean) / deviation over the episodes of a group that have a value: mean 0, population deviation 1.

    Where values differ by no more than rounding (deviation <= 1e-6 max(1, largest magnitude)), and for an episode
    that has no other to compare with, exactly 0. RewardFault where spans or tokens are scored.
    """
    name = name or f"{reward.name}_normalised"
    _unweighted(name, (reward,))
    return Combination(name, (reward,), _normalise, weight, missing, plain=True)


@dataclass(frozen=True)
class Combination:
    """Several rewards as one: the parts are asked side by side, and `rule` makes one score of what they say.

    plain: the rule reads values only, so that a part which scores spans or tokens is refused.
    RewardFault, with the part's name, when a part raises or breaks its contract. A part's value that is not finite
    makes the combined value NaN, which takes that episode away wherever scores are checked.
    """

    name: str
    parts: tuple[Reward, ...]
    rule: Rule
    weight: float = 1.0
    missing: Missing = "skip"
    plain: bool = False

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError(f"{self.name!r} combines no rewards; expected at least one")
        if self.missing not in MISSING:
            raise ValueError(f"{self.name!r}: missing is {self.missing!r}; expected one of {', '.join(MISSING)}")
        names = [part.name for part in self.parts]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise ValueError(
                f"{self.name!r} has several parts called {twice!r}; components are told apart by name, so give each "
                "its own (name=...)"
            )

    @property
    def needs_context(self) -> bool:
        """Whether a part can only be asked while a run goes on."""
        return any(getattr(part, "needs_context", False) for part in self.parts)

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        told = await asyncio.gather(*(part(group, context) for part in self.parts), return_exceptions=True)
        columns = [self._column(part, scores, group) for part, scores in zip(self.parts, told, strict=True)]
        asked = list(zip(*columns, strict=True))
        rows = [self._row(scores, episode.task.id) for scores, episode in zip(asked, group, strict=True)]
        known = [row for row in rows if isinstance(row, tuple)]
        combined = iter(self.rule(known))
        scores = [next(combined) if isinstance(row, tuple) else row for row in rows]
        return [self._dressed(score, parts) for score, parts in zip(scores, asked, strict=True)]

    def _column(self, part: Reward, told: list[Score] | BaseException, group: Group) -> list[Score]:
        """One part's scores, held to the contract."""
        task = group[0].task.id
        if isinstance(told, Exception) and not isinstance(told, JudgeStopped):
            what = told.what if isinstance(told, RewardFault) else f"{type(told).__name__}: {told}"
            raise RewardFault(self.name, task, f"its part {part.name!r}: {what}", "a score from every part") from told
        if isinstance(told, BaseException):
            raise told
        scores = list(told)
        if len(scores) != len(group) or not all(isinstance(score, Score) for score in scores):
            kinds = ", ".join(sorted({type(score).__name__ for score in scores})) or "nothing"
            found = f"its part {part.name!r} gave {len(scores)} scores ({kinds})"
            raise RewardFault(self.name, task, found, f"{len(group)} `Score`s, one for each episode")
        for score in scores if self.plain else ():
            if score.spans or score.tokens:
                found = f"its part {part.name!r} scores single spans or tokens"
                raise RewardFault(self.name, task, found, "one value per episode; only sums and gates take the others")
        return scores

    def _row(self, scores: tuple[Score, ...], task: str) -> tuple[Score | None, ...] | Score:
        """What the rule is given about an episode, or its score where that is settled."""
        heard = [(part, score) for part, score in zip(self.parts, scores, strict=True) if self._counts(part)]
        if any(score.applies and not math.isfinite(score.total()) for _, score in heard):
            return Score(math.nan)
        silent = [(part.name, score) for part, score in heard if not score.applies]
        if self.missing == "error":
            for name, score in silent:
                if score.verdict is None:
                    raise RewardFault(self.name, task, f"its part {name!r} does not apply", "a value from every part")
        unjudged = any(score.verdict is not None for _, score in silent)
        if unjudged or len(silent) == len(heard) or (silent and self.missing == "propagate"):
            return Score()
        return tuple(score if score.applies else None for score in scores)

    def _counts(self, part: Reward) -> bool:
        """A part of weight 0 is watched only."""
        return part.weight != 0

    def _dressed(self, score: Score, told: Sequence[Score]) -> Score:
        named = dict(zip((part.name for part in self.parts), told, strict=True))
        episodes = tuple(episode for one in told for episode in one.episodes)
        return replace(score, parts=dict(_components(named)), verdict=_verdict(named), episodes=episodes)


def _unweighted(name: str, rewards: Sequence[Reward]) -> None:
    for reward in rewards:
        if reward.weight != 1:
            raise ValueError(
                f"{name!r}: its part {reward.name!r} has weight {reward.weight:g}, which only a weighted sum reads; "
                "give the weight to the whole"
            )


def _components(named: Mapping[str, Score]) -> Iterator[tuple[str, float]]:
    for name, score in named.items():
        if score.applies and math.isfinite(score.total()):
            yield name, score.total()
        yield from ((f"{name}/{inner}", value) for inner, value in score.parts.items())


def _verdict(named: Mapping[str, Score]) -> Verdict | None:
    """The first verdict among the parts, with the others in words."""
    given = [(name, score.verdict) for name, score in named.items() if score.verdict is not None]
    if not given:
        return None
    first, *others = given
    said = [f"{name}: {verdict.status}{f', {verdict.reason}' * bool(verdict.reason)}" for name, verdict in others]
    return replace(first[1], reason="; ".join(filter(None, [first[1].reason, *said])))


# --- rules -----------------------------------------------------------------------------------------------------------


def _each(combine: Callable[[Row], Score], rows: Sequence[Row]) -> list[Score]:
    return [combine(row) for row in rows]


def _sum(factors: Sequence[float], row: Row) -> Score:
    there = [(factor, score) for factor, score in zip(factors, row, strict=True) if score is not None and factor]
    values = [factor * score.value for factor, score in there if score.value is not None]
    spans: dict[int, float] = {}
    tokens: dict[int, FloatArray] = {}
    for factor, score in there:
        for index, value in score.spans.items():
            spans[index] = spans.get(index, 0.0) + factor * value
        for index, stream in score.tokens.items():
            scaled = np.asarray(factor * np.asarray(stream), np.float32)
            tokens[index] = _added(tokens[index], scaled, index) if index in tokens else scaled
    return Score(sum(values) if values else None, spans, tokens)


def _added(one: FloatArray, other: FloatArray, index: int) -> FloatArray:
    if one.shape != other.shape:
        raise ValueError(f"parts score span {index} with {len(one)} and {len(other)} values; expected one per token")
    return one + other


def _product(row: Row) -> Score:
    return Score(math.prod(_value(score) for score in row if score is not None))


def _gate(threshold: float, otherwise: float | None, row: Row) -> Score:
    score, where = row
    if where is not None and where.total() < threshold:
        return Score(otherwise)
    return Score() if score is None else Score(score.value, score.spans, score.tokens)


def _clamp(low: float, high: float, row: Row) -> Score:
    return Score(min(max(_value(row[0]), low), high))


def _normalise(rows: Sequence[Row]) -> list[Score]:
    values = np.array([_value(row[0]) for row in rows], np.float64)
    if not np.isfinite(values).all() or not len(values):
        return [Score(float(value)) for value in values]
    centred = values - values.mean()
    deviation = float(np.sqrt(np.mean(centred**2)))
    if deviation <= TOLERANCE * max(1.0, float(np.abs(values).max())):
        return [Score(0.0) for _ in rows]
    return [Score(float(value)) for value in centred / deviation]


def _value(score: Score | None) -> float:
    assert score is not None
    assert score.value is not None
    return score.value
