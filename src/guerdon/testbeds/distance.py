"""Dense rewards: how near a reply comes to a hidden string, or how it scores place by place."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import lru_cache
from itertools import product

import numpy as np

from guerdon.rollouts.base import derive
from guerdon.synthetic.domain import below
from guerdon.testbeds.base import Testbed
from guerdon.testbeds.beginner import beginner, split
from guerdon.testbeds.symbols import Symbols
from guerdon.testbeds.teach import Demonstration
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


PLACES = 4
"""Letters of a prompt of `additive`."""


@lru_cache(maxsize=16)
def additive(letters: int = 6, length: int = 6, skill: float = 0.3, steps: int = 300, seed: int = 0) -> Testbed:
    """A reply of `length` letters scores at each place by its letter and by the prompt's letter at that place, from a
    hidden table of N(0, 1); 1 is the best that a prompt allows and 0 the worst.

    skill, steps: of the policy it begins with, see `beginner`; wrong demonstrations have letters at random. Any
    two seeds are fine-tuned from one and the same. `Task.data["answer"]` is the best reply, `best` at every prompt.
    """
    alphabet = LETTERS[:letters]
    symbols = Symbols(alphabet + "=.", end=".")
    numbers = np.random.default_rng(derive("additive", seed))
    worth = numbers.normal(size=(length, letters, letters))  # by place, letter asked, letter said

    def scores(task: Task) -> np.ndarray:
        asked = symbols.encode(task.data["asked"])
        return np.stack([worth[place, asked[place % PLACES]] for place in range(length)])

    def truth(task: Task, text: str) -> float:
        if len(text) != length or "=" in text:
            return 0.0
        rows = scores(task)
        low, high = rows.min(1).sum(), rows.max(1).sum()
        return float((rows[np.arange(length), symbols.encode(text)].sum() - low) / (high - low))

    def task(asked: str) -> Task:
        made = Task(f"additive/{asked}", symbols.encode(asked + "="), {"asked": asked})
        best = "".join(alphabet[i] for i in scores(made).argmax(1))
        return replace(made, data={**made.data, "answer": best})

    tasks, held = split([task("".join(letters_)) for letters_ in product(alphabet, repeat=PLACES)])

    def demonstrations(numbers: random.Random, share: float) -> list[Demonstration]:
        def said(best: str) -> str:
            if numbers.random() < share:
                return best
            return "".join(alphabet[below(numbers, letters)] for _ in range(length))

        return [(f"{one.data['asked']}=", said(one.data["answer"])) for one in tasks]

    return Testbed(
        name="additive",
        symbols=symbols,
        tasks=tasks,
        heldout=held,
        truth=truth,
        length=length + 1,
        policy=beginner(symbols, demonstrations, skill, steps),
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
