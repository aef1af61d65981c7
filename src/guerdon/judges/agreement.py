"""How far a judge can be trusted: what it says about a few answers that people have labelled already.

`agreement` compares two lists; `check_judge` runs a judge reward on labelled rows first. A judge's failures are
counted apart, and are neither agreement nor disagreement.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from guerdon.evaluation.intervals import Interval, wilson
from guerdon.judges.base import together
from guerdon.judges.outcome import Failure
from guerdon.judges.usage import BudgetSpent
from guerdon.rewards.rehearsal import made_up
from guerdon.types import EMPTY, Score, Task

if TYPE_CHECKING:
    from guerdon.rewards.base import Reward
    from guerdon.rollouts.base import Context

TIE = "tie"
_LIMIT = 8
"""Rows that are judged at once."""


@dataclass(frozen=True)
class Agreement:
    """accuracy: share of the judged rows that are labelled alike. kappa: that beyond what chance alone would give
    (Cohen 1960, Educational and Psychological Measurement 20), 1 at most; None where chance alone would agree on all.

    failed: rows without a judgement, by cause. judged: rows with one. consistent: share of comparisons whose choice did
    not follow the order in which replies were shown; None without comparisons.
    """

    accuracy: Interval | None
    kappa: Interval | None
    judged: int
    failed: Mapping[str, int]
    consistent: float | None = None

    @property
    def failed_share(self) -> float:
        failed = sum(self.failed.values())
        return failed / (failed + self.judged)

    def __str__(self) -> str:
        lines = [
            f"agreement with the labels  {self.accuracy or 'nothing was judged'}",
            f"beyond chance (kappa)      {self.kappa or 'undefined: judge or labels never vary'}",
            f"failed                     {self.failed_share:.1%} {dict(self.failed) if self.failed else ''}".rstrip(),
        ]
        if self.consistent is not None:
            lines.append(f"same in both orders        {self.consistent:.1%}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Labelled:
    """One or more replies to a prompt, and what people said: for one reply its category (True: good), for several the
    index of the best. data: what the reward reads of a task (`rubric`, ...)."""

    prompt: Any
    replies: Sequence[str]
    label: Hashable
    data: Mapping[str, Any] = EMPTY


def agreement(
    predicted: Sequence[Hashable | Failure],
    labels: Sequence[Hashable],
    consistent: float | None = None,
    confidence: float = 0.95,
) -> Agreement:
    """What a judge predicted (a failure: nothing) against the labels, in the same order.

    The interval of the accuracy is Wilson's; that of kappa the same, rescaled, with the agreement by chance taken as
    known. [1, 1, 0, 0] against [1, 0, 0, 0]: accuracy 3/4, chance 1/2, kappa 1/2.
    """
    if len(predicted) != len(labels) or not labels:
        raise ValueError(f"{len(predicted)} predictions for {len(labels)} labels; expected one each, and at least one")
    failed: Counter[str] = Counter(one.cause for one in predicted if isinstance(one, Failure))
    pairs = [(one, label) for one, label in zip(predicted, labels, strict=True) if not isinstance(one, Failure)]
    n = len(pairs)
    if not n:
        return Agreement(None, None, 0, failed, consistent)
    accuracy = wilson(sum(one == label for one, label in pairs), n, confidence)
    said, true = Counter(one for one, _ in pairs), Counter(label for _, label in pairs)
    chance = sum(said[category] * true[category] for category in said) / n**2
    return Agreement(accuracy, _beyond(accuracy, chance), n, failed, consistent)


async def check_judge(
    reward: Reward,
    rows: Sequence[Labelled],
    category: Callable[[float], Hashable] = lambda value: value >= 0.5,
    context: Context | None = None,
    confidence: float = 0.95,
) -> Agreement:
    """Run a judge reward on labelled rows. category: what its value for a single reply amounts to.

    Of several replies the one with the highest value is predicted, and 'tie' where two have it. When the judge's budget
    ends, the rows that are left count as failed by it.
    """
    slots = asyncio.Semaphore(_LIMIT)
    told = await together([_judged(reward, row, i, context, slots) for i, row in enumerate(rows)])
    predicted = [one if isinstance(one, Failure) else _predicted(one, category) for one in told]
    scores = [score for one in told if not isinstance(one, Failure) for score in one]
    flipped = [score.parts["flipped"] for score in scores if "flipped" in score.parts]
    consistent = 1 - sum(flipped) / len(flipped) if flipped else None
    return agreement(predicted, [row.label for row in rows], consistent, confidence)


async def _judged(
    reward: Reward, row: Labelled, number: int, context: Context | None, slots: asyncio.Semaphore
) -> list[Score] | Failure:
    task = Task(f"labelled-{number}", row.prompt, row.data)
    async with slots:
        try:
            return await reward([made_up(task, reply) for reply in row.replies], context)  # type: ignore[arg-type]
        except BudgetSpent as error:
            return Failure("budget", str(error))


def _predicted(scores: Sequence[Score], category: Callable[[float], Hashable]) -> Hashable | Failure:
    silent = next((score for score in scores if score.value is None), None)
    if silent is not None:
        return Failure.of(silent.verdict)
    values = [score.value or 0.0 for score in scores]
    if len(values) == 1:
        return category(values[0])
    best = max(values)
    return values.index(best) if values.count(best) == 1 else TIE


def _beyond(accuracy: Interval, chance: float) -> Interval | None:
    if chance >= 1:
        return None
    mean, low, high = ((rate - chance) / (1 - chance) for rate in (accuracy.mean, accuracy.low, accuracy.high))
    return Interval(mean, low, high, accuracy.n)
