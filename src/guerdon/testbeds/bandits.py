"""Replies of one symbol: choices whose worth is known, sure or by chance, with values that differ between tasks."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import lru_cache

import torch

from guerdon.rollouts.base import derive
from guerdon.synthetic.domain import below
from guerdon.testbeds.base import Testbed, Trait
from guerdon.testbeds.chance import Lottery, Outcomes
from guerdon.testbeds.exact import oracle_of
from guerdon.testbeds.model import Model
from guerdon.testbeds.symbols import Symbols
from guerdon.testbeds.trees import LETTERS, table
from guerdon.types import Task

SAFE_OR_RISKY: Mapping[str, Outcomes] = {"S": ((0.6, 1.0),), "R": ((1.0, 0.2), (0.0, 0.8))}
"""A sure 0.6, or 1 with chance 0.2: the mean says S, the best of 8 says R (0.8322)."""


def bandit(arms: Mapping[str, Outcomes]) -> Testbed:
    """One task; each arm is a symbol whose outcome is drawn. The truth is its mean, `P(S)` the chance to choose S.

    A policy begins with equal chances. The best mean is that of the best arm; `best_of` says what the best of k
    replies is worth, of which `max@k`, which knows means alone, knows nothing here.
    """
    symbols = Symbols("".join(arms), prompts=1)
    means = {arm: sum(value * p for value, p in outcomes) for arm, outcomes in arms.items()}
    return Testbed(
        name="bandit",
        symbols=symbols,
        tasks=(Task("bandit", symbols.prompt(0), {"arms": dict(arms)}),),
        truth=lambda task, text: means[text],
        length=1,
        policy=table(symbols, 1),
        rewards=(Lottery("outcome", lambda task, text: arms[text]),),
        best=max(means.values()),
        traits={f"P({arm})": _is(arm) for arm in arms},
        enumerable=True,
    )


def _is(arm: str) -> Trait:
    return lambda task, text: float(text == arm)


@torch.no_grad()
def best_of(testbed: Testbed, model: Model, k: int) -> float:
    """Expected best outcome of k replies of a policy to a bandit, exactly."""
    arms = testbed.tasks[0].data["arms"]
    oracle = oracle_of(testbed)
    p = dict(zip(oracle.replies.texts, oracle.logp(model)[0].exp().tolist(), strict=True))
    law: dict[float, float] = {}
    for arm, outcomes in arms.items():
        for value, chance in outcomes:
            law[value] = law.get(value, 0.0) + p[arm] * chance
    below_, total = 0.0, 0.0
    for value in sorted(law):
        total += value * ((below_ + law[value]) ** k - below_**k)
        below_ += law[value]
    return total


@lru_cache(maxsize=32)
def choices(
    prompts: int = 60, options: int = 8, valued: float = 0.15, high: float = 0.1, low: float = 0.01, seed: int = 0
) -> Testbed:
    """Unrelated questions with one right option each: a share `valued` of value `high`, the others `low`.

    `Task.data` holds `answer` and `value`. `valued` is the mean of right replies weighed by value (of 1), `right` that
    of all alike. A policy begins with equal chances; the best is always right.
    """
    symbols = Symbols(LETTERS[:options], prompts=prompts)
    numbers = random.Random(derive("choices", seed))
    count = round(valued * prompts)
    tasks = tuple(
        Task(f"choices/{i}", symbols.prompt(i), {"answer": LETTERS[below(numbers, options)], "value": value})
        for i, value in enumerate([high] * count + [low] * (prompts - count))
    )
    mean = sum(task.data["value"] for task in tasks) / prompts
    return Testbed(
        name="choices",
        symbols=symbols,
        tasks=tasks,
        truth=lambda task, text: float(text == task.data["answer"]),
        length=1,
        policy=table(symbols, 1),
        traits={"valued": lambda task, text: float(text == task.data["answer"]) * task.data["value"] / mean},
        enumerable=True,
    )
