"""Words to rework, longer and shorter, for a small transformer that was taught a little of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache

from guerdon.rollouts.base import derive
from guerdon.synthetic.domain import below
from guerdon.tasks.builtin import STRINGS
from guerdon.testbeds.base import Testbed
from guerdon.testbeds.beginner import at_level, beginner, changed, split
from guerdon.testbeds.symbols import Symbols
from guerdon.testbeds.teach import Demonstration
from guerdon.types import Task


@lru_cache(maxsize=16)
def words(
    name: str = "reverse", letters: int = 8, shortest: int = 3, longest: int = 5, skill: float = 0.4, steps: int = 200
) -> Testbed:
    """Words of the first letters, each length as often, to 'copy', 'reverse', 'sort' or 'double'; worth 1 when exact.

    skill, steps: of the policy it begins with, see `beginner`; wrong demonstrations have one letter changed. Held-out
    words are in no demonstration and no task. `right_3` and so on are the shares of right replies by length.
    `Task.data` holds `answer` and `level`, the length.
    """
    rework = STRINGS[name]
    symbols = Symbols("abcdefghijklmnopqrstuvwxyz"[:letters] + "=.", end=".")
    numbers = random.Random(derive("words", name, letters, shortest, longest))

    def draw(numbers: random.Random) -> str:
        length = shortest + below(numbers, longest - shortest + 1)
        return "".join(symbols.alphabet[below(numbers, letters)] for _ in range(length))

    tasks, held = split([_task(symbols, rework, draw(numbers)) for _ in range(4000)])

    def demonstrations(numbers: random.Random, skill: float) -> list[Demonstration]:
        rows = []
        for task in tasks:
            said = task.data["answer"]
            if numbers.random() >= skill:
                said = changed(numbers, said, symbols.alphabet[:letters])
            rows.append((f"{task.data['word']}=", said))
        return rows

    return Testbed(
        name=name,
        symbols=symbols,
        tasks=tasks,
        heldout=held,
        truth=exact_match,
        length=len(rework("a" * longest)) + 1,
        policy=beginner(symbols, demonstrations, skill, steps),
        traits={f"right_{n}": at_level(n, exact_match) for n in range(shortest, longest + 1)},
    )


def exact_match(task: Task, text: str) -> float:
    """1 when the reply is the answer."""
    return float(text == task.data["answer"])


def _task(symbols: Symbols, rework: Callable[[str], str], word: str) -> Task:
    data = {"word": word, "answer": rework(word), "level": len(word)}
    return Task(f"words/{word}", symbols.encode(word + "="), data)
