"""Runs in numbers only: what a run's rewards look like step by step when all is well, and with one thing wrong.

No model: tasks have a difficulty, the policy a skill that grows; harder tasks get longer replies, and within a task
wrong replies are a little longer than right ones.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from guerdon.types import Episode, Group, Score, Span, Task, Verdict

WEIGHTS = {"numeric": 1.0, "think_format": 0.2, "overlong": 1.0, "exact": 0.0}
LIMIT = 300
"""Tokens at which a reply is cut."""
TASK = Task("t", "q")


@dataclass
class One:
    """An episode to be: what a disease may change."""

    right: bool
    form: bool
    length: int
    status: str
    exact: float
    penalty: float = 0.0


Disease = Callable[[int, list[list[One]], np.random.Generator], None]
"""Changes the groups of a step in place."""


@cache
def _spans(length: int) -> list[Span]:
    return [Span(np.array([1])), Span(np.zeros(length), np.full(length, -0.5), parent=0)]


def run(
    seed: int, steps: int = 150, groups: int = 8, n: int = 4, disease: Disease | None = None
) -> Iterator[tuple[int, list[Group], dict[str, float]]]:
    """Step, groups and metrics, as a run would hand them to `Watch.see`."""
    dice = np.random.default_rng(seed)
    for step in range(1, steps + 1):
        planned = [_group(step / steps, n, dice) for _ in range(groups)]
        if disease:
            disease(step, planned, dice)
        made = [[_episode(one) for one in group] for group in planned]
        yield step, made, _metrics(made)


def _group(progress: float, n: int, dice: np.random.Generator) -> list[One]:
    hard = dice.normal()
    chance = 1 / (1 + np.exp(1.5 - 3 * progress + hard))
    found = []
    for _ in range(n):
        right = bool(dice.random() < chance)
        length = int(min(LIMIT, np.exp(dice.normal(4.6 + 0.3 * hard - 0.15 * right, 0.5))))
        silent = dice.random() < 0.12 * (1 - progress) or length == LIMIT
        status = "right" if right else "no_answer" if silent else "cannot_tell" if dice.random() < 0.03 else "wrong"
        status = "failed" if dice.random() < 0.01 else status
        exact = float(dice.random() < 0.3 + 0.3 * progress)
        penalty = min(0.0, (LIMIT - 60 - length) / 60)
        found.append(One(right, bool(dice.random() < 0.6 + 0.4 * progress), length, status, exact, penalty))
    return found


def _metrics(groups: list[Group]) -> dict[str, float]:
    episodes = [episode for group in groups for episode in group]
    statuses = Counter(episode.scores["numeric"].verdict.status for episode in episodes)  # type: ignore[union-attr]
    returns = [[sum(WEIGHTS[k] * s.total() for k, s in e.scores.items()) for e in group] for group in groups]
    return {
        "truncated": sum(episode.stop == "length" for episode in episodes) / len(episodes),
        "unscored": statuses["failed"] / len(episodes),
        "groups/no_signal": sum(max(row) - min(row) < 1e-6 for row in returns) / len(groups),
        "reward/exact": sum(episode.scores["exact"].total() for episode in episodes) / len(episodes),
        **{f"verdict/numeric/{status}": number / len(episodes) for status, number in statuses.items()},
    }


def _episode(one: One) -> Episode:
    value = None if one.status == "failed" else float(one.right)
    scores = {
        "numeric": Score(value, verdict=Verdict(one.status)),  # type: ignore[arg-type]
        "think_format": Score(float(one.form)),
        "overlong": Score(one.penalty),
        "exact": Score(one.exact),
    }
    return Episode(TASK, _spans(one.length), scores, stop="length" if one.length >= LIMIT else "stop")
