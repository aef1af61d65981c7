"""What evaluations of reward models share: what is scored, by what kind of function, and the report of a benchmark.

An evaluation knows no model: it is handed a function from candidates to scores, or from solutions to step scores. A
score that is nan is none: every comparison with it is lost, and it is counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from guerdon.data.row import Text, content
from guerdon.evaluation.evaluate import as_dict
from guerdon.evaluation.intervals import Interval, wilson
from guerdon.types import EMPTY


@dataclass(frozen=True)
class Candidates:
    """Replies to one prompt that are scored side by side. data: further columns, which a reward may read.

    prompt: None where the replies are whole conversations.
    """

    prompt: Text | None
    replies: tuple[Text, ...]
    data: Mapping[str, Any] = EMPTY


@dataclass(frozen=True)
class Solution:
    """A solution in steps."""

    prompt: Text
    steps: tuple[str, ...]
    data: Mapping[str, Any] = EMPTY


ScoreLists = Callable[[Sequence[Candidates]], list[list[float]]]
"""A score for every reply of every item, in order."""

ScoreSteps = Callable[[Sequence[Solution]], list[list[float]]]
"""For every step of every solution the probability that it is right, in order."""

CountTokens = Callable[[Candidates], list[int]]
"""How many tokens each reply has."""

Score = Callable[[Sequence[Text | None], Sequence[Text]], Sequence[float]]
"""(prompts, replies) -> a score each. [B]"""


def pointwise(score: Score) -> ScoreLists:
    """A function of single replies, as one of candidates."""

    def lists(items: Sequence[Candidates]) -> list[list[float]]:
        prompts = [item.prompt for item in items for _ in item.replies]
        replies = [reply for item in items for reply in item.replies]
        values = iter(score(prompts, replies))
        return [[float(next(values)) for _ in item.replies] for item in items]

    return lists


@dataclass(frozen=True)
class Report:
    """What a benchmark says. score: its own headline, nan where it is undefined for these rows.

    parts: what the headline is made of, by name, each with its interval where there is one. unscored: replies or steps
    that got no score, which count as lost. further: whatever else the benchmark reports.
    """

    bench: str
    score: float
    rows: int
    parts: Mapping[str, Interval | float]
    unscored: int = 0
    further: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        parts = {name: as_dict(one) if isinstance(one, Interval) else one for name, one in self.parts.items()}
        return {
            "bench": self.bench,
            "score": self.score,
            "rows": self.rows,
            "unscored": self.unscored,
            "parts": parts,
            **self.further,
        }


@dataclass(frozen=True)
class Stratum:
    """`right` of `n` in one stratum, whose rate enters a mean with this weight."""

    weight: float
    right: float
    n: int

    @property
    def rate(self) -> float:
        return self.right / self.n


def weighted(strata: Sequence[Stratum]) -> Interval:
    """The weighted mean of the rates of independent strata: Wilson's interval at the effective sample size.

    With weights w_s that add up to 1, rates p_s and overall p it is p (1 - p) / sum_s w_s^2 p_s (1 - p_s) / n_s, and
    all rows where that has no value (every stratum all right or all wrong). With weights as the sizes it is about n.
    """
    total, rows = sum(one.weight for one in strata), sum(one.n for one in strata)
    shares = [one.weight / total for one in strata]
    rate = sum(share * one.rate for share, one in zip(shares, strata, strict=True))
    variance = sum(share**2 * one.rate * (1 - one.rate) / one.n for share, one in zip(shares, strata, strict=True))
    size = rate * (1 - rate) / variance if variance > 0 else float(rows)
    found = wilson(min(1.0, rate) * size, size)
    return Interval(found.mean, found.low, found.high, rows)


def by_name(names: Sequence[str], credits: Sequence[float]) -> dict[str, tuple[float, int]]:
    """(sum of credits, number) of the rows of each name, in order of first appearance."""
    found: dict[str, tuple[float, int]] = {}
    for name, credit in zip(names, credits, strict=True):
        right, n = found.get(name, (0.0, 0))
        found[name] = (right + credit, n + 1)
    return found


def count_unscored(scores: Sequence[Sequence[float]]) -> int:
    return sum(math.isnan(value) for values in scores for value in values)


def checked(scores: list[list[float]], sizes: Sequence[int]) -> list[list[float]]:
    """The scores, where there is one for each reply or step. ValueError says for which item there is not."""
    if len(scores) != len(sizes):
        raise ValueError(f"{len(scores)} lists of scores for {len(sizes)} items; expected one each")
    wrong = next((i for i, (values, n) in enumerate(zip(scores, sizes, strict=True)) if len(values) != n), None)
    if wrong is not None:
        raise ValueError(f"{len(scores[wrong])} scores for item {wrong}; expected {sizes[wrong]}")
    return scores


def last_text(reply: Text) -> str:
    """A reply as text: of messages the last one's."""
    return reply if isinstance(reply, str) else content(reply[-1])
