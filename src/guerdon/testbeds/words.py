"""Words to rework, longer and shorter, for a small transformer that was taught a little of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import lru_cache

from guerdon.rollouts.base import derive
from guerdon.synthetic.domain import below
from guerdon.tasks.base import held_out
from guerdon.tasks.builtin import STRINGS
from guerdon.testbeds.base import Testbed, Trait
from guerdon.testbeds.model import Model
from guerdon.testbeds.small import SmallPolicy
from guerdon.testbeds.symbols import Symbols
from guerdon.testbeds.teach import Demonstration, taught
from guerdon.types import Task

HELD_OUT = 64
"""Tasks that figures are about."""

BATCH = 64
"""Demonstrations of one step of teaching."""


@lru_cache(maxsize=16)
def words(
    name: str = "reverse", letters: int = 8, shortest: int = 3, longest: int = 5, skill: float = 0.4, steps: int = 200
) -> Testbed:
    """Words of the first letters, each length as often, to 'copy', 'reverse', 'sort' or 'double'; worth 1 when exact.

    skill, steps: of the policy it begins with, see `beginner`; wrong demonstrations have one letter changed. Held-out
    words are in no demonstration and no task.
    `right_3` and so on are the shares of right replies by length. `Task.data` holds `answer` and `level`, the length.
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
            answer = task.data["answer"]
            fine = numbers.random() < skill
            rows.append(
                (f"{task.data['word']}=", answer if fine else changed(numbers, answer, symbols.alphabet[:letters]))
            )
        return rows

    return Testbed(
        name=name,
        symbols=symbols,
        tasks=tasks,
        heldout=held,
        truth=exact_match,
        length=len(rework("a" * longest)) + 1,
        policy=beginner(symbols, demonstrations, skill, steps),
        traits={f"right_{n}": at_level(n) for n in range(shortest, longest + 1)},
    )


def exact_match(task: Task, text: str) -> float:
    """1 when the reply is the answer."""
    return float(text == task.data["answer"])


def at_level(level: int) -> Trait:
    """Whether replies to tasks of this level are right."""
    return lambda task, text: exact_match(task, text) if task.data["level"] == level else None


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


def _task(symbols: Symbols, rework: Callable[[str], str], word: str) -> Task:
    data = {"word": word, "answer": rework(word), "level": len(word)}
    return Task(f"words/{word}", symbols.encode(word + "="), data)
