"""Replies that may end or go on when all is said: what a loss makes of lengths that are nobody's merit."""

from __future__ import annotations

from functools import lru_cache

from guerdon.rollouts.base import derive
from guerdon.testbeds.base import Testbed
from guerdon.testbeds.symbols import Symbols
from guerdon.testbeds.trees import LETTERS, table
from guerdon.types import Task


@lru_cache(maxsize=32)
def lengths(prompts: int = 8, letters: int = 3, length: int = 6, spread: float = 0.5, seed: int = 0) -> Testbed:
    """A reply is right when its first letter is the task's (`Task.data["answer"]`); what follows up to the end says
    nothing. `right_length` and `wrong_length` are lengths times whether it is right: divided by `right`, and by
    1 - `right`, the mean lengths of right and of wrong replies. The best policy is always right, at any length.
    """
    symbols = Symbols(LETTERS[:letters] + ".", end=".", prompts=prompts)
    answers = [LETTERS[derive("lengths", seed, i) % letters] for i in range(prompts)]

    def truth(task: Task, text: str) -> float:
        return float(text[:1] == task.data["answer"])

    return Testbed(
        name="lengths",
        symbols=symbols,
        tasks=tuple(Task(f"lengths/{i}", symbols.prompt(i), {"answer": answer}) for i, answer in enumerate(answers)),
        truth=truth,
        length=length,
        policy=table(symbols, length, spread),
        traits={
            "right_length": lambda task, text: truth(task, text) * _symbols(text, length),
            "wrong_length": lambda task, text: (1 - truth(task, text)) * _symbols(text, length),
        },
        enumerable=True,
    )


def _symbols(text: str, length: int) -> int:
    """Symbols of a reply, its end included."""
    return min(len(text) + 1, length)
