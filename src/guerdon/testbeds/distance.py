"""Dense rewards: how near a reply comes to a hidden string, or how it scores place by place."""

from __future__ import annotations

import random
from functools import lru_cache

from guerdon.rollouts.base import derive
from guerdon.synthetic.domain import below
from guerdon.testbeds.base import Testbed
from guerdon.testbeds.symbols import Symbols
from guerdon.testbeds.trees import LETTERS, table
from guerdon.types import Task


@lru_cache(maxsize=32)
def hidden(prompts: int = 32, letters: int = 8, length: int = 6, seed: int = 0) -> Testbed:
    """1 - d / length, d the edit distance to the string that is hidden at each prompt; 1 for the string itself.

    A policy sees the prompt, the place and the symbol before it, and begins with equal chances. `exact` is the share of
    replies that are the string. `Task.data["answer"]` holds it.
    """
    symbols = Symbols(LETTERS[:letters], prompts=prompts)
    numbers = random.Random(derive("hidden", seed))
    goals = ["".join(LETTERS[below(numbers, letters)] for _ in range(length)) for _ in range(prompts)]
    return Testbed(
        name="hidden",
        symbols=symbols,
        tasks=tuple(Task(f"hidden/{i}", symbols.prompt(i), {"answer": goal}) for i, goal in enumerate(goals)),
        truth=lambda task, text: 1 - edits(text, task.data["answer"]) / length,
        length=length,
        policy=table(symbols, length, order=1),
        traits={"exact": lambda task, text: float(text == task.data["answer"])},
    )


@lru_cache(maxsize=1 << 16)
def edits(one: str, other: str) -> int:
    """Fewest insertions, deletions and changes of a symbol that lead from one to the other (Levenshtein 1966)."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        above, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
    return row[-1]
