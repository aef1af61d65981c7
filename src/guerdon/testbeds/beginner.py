"""Policies that begin able and unsure: small transformers taught by demonstrations, and the tasks kept from them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import lru_cache

from guerdon.rollouts.base import derive
from guerdon.synthetic.domain import below
from guerdon.tasks.base import held_out
from guerdon.testbeds.base import Trait
from guerdon.testbeds.model import Model
from guerdon.testbeds.small import SmallPolicy
from guerdon.testbeds.symbols import Symbols
from guerdon.testbeds.teach import Demonstration, taught
from guerdon.types import Task

HELD_OUT = 64
"""Tasks that figures are about."""

BATCH = 64
"""Demonstrations of one step of teaching."""


def at_level(level: int, truth: Callable[[Task, str], float]) -> Trait:
    """The truth of replies to tasks of this level (`Task.data["level"]`)."""
    return lambda task, text: truth(task, text) if task.data["level"] == level else None


def split(tasks: Sequence[Task]) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """Different tasks as (to learn from, held out): the tenth that a hash of the id says, at most `HELD_OUT`."""
    different = list({task.id: task for task in tasks}.values())
    held = [task for task in different if held_out(task.id)]
    return tuple(task for task in different if not held_out(task.id)), tuple(held[:HELD_OUT])


Rows = Callable[[random.Random, float], Sequence[Demonstration]]
"""(random numbers, share of right ones) -> demonstrations."""


def beginner(symbols: Symbols, rows: Rows, skill: float, steps: int, unsure: int = 100) -> Callable[[int], Model]:
    """What makes a policy of a seed: a small transformer that can do it, and is unsure whether to.

    `steps` batches of 64 right demonstrations teach one policy, the same for all seeds; `unsure` batches of which a
    share `skill` is right, drawn anew for each from the seed, make the seed's own of it, right about as often.
    """

    @lru_cache(maxsize=1)
    def able() -> Model:
        return taught(SmallPolicy(symbols, 0), rows(random.Random(0), 1.0), steps, 0, batch=BATCH, lr=6e-3)

    @lru_cache(maxsize=2)
    def policy(seed: int) -> Model:
        numbers = random.Random(derive("demonstrations", seed))
        shown: list[Demonstration] = []
        while len(shown) < unsure * BATCH:
            shown += rows(numbers, skill)
        return taught(able(), shown, unsure, seed, batch=BATCH, lr=5e-4)

    return policy


def changed(numbers: random.Random, text: str, alphabet: str) -> str:
    """The text with one symbol replaced by another of the alphabet, never the text itself."""
    place = below(numbers, len(text))
    others = alphabet.replace(text[place], "")
    return text[:place] + others[below(numbers, len(others))] + text[place + 1 :]
