"""Short strings of which a few win: several ways to be right, all of them known, all replies countable."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache

from guerdon.rollouts.base import derive
from guerdon.synthetic.domain import below
from guerdon.testbeds.base import Testbed
from guerdon.testbeds.symbols import Symbols
from guerdon.testbeds.tabular import TabularPolicy
from guerdon.types import Task

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
FOUR = ("ACD", "BDC", "CAB", "DBA")
"""Four winning strings of three of four letters, each with a first letter of its own."""


@lru_cache(maxsize=32)
def strings(
    prompts: int = 1,
    letters: int = 4,
    length: int = 3,
    ways: int = 4,
    spread: float = 0.0,
    lift: float = 0.0,
    seed: int = 0,
    winning: tuple[str, ...] | None = None,
) -> Testbed:
    """Strings of `length` letters; for each prompt `ways` of them, drawn from `seed`, are worth 1, the others 0.

    winning: these win at every prompt instead, such as `FOUR`. spread: deviation of the logits that a policy begins
    with, drawn from its seed; lift: what is added to those that go on towards a winning string, from nothing at the
    first prompt, the hardest, to twice as much at the last. With both at 0 all strings are as likely. The best policy
    is worth 1, and so is every mixture of winning strings: `modes` says how many are left. `Task.data["ways"]` holds
    them.
    """
    symbols = Symbols(LETTERS[:letters], prompts=prompts)
    won = [winning or _drawn(letters, length, ways, derive("strings", seed, prompt)) for prompt in range(prompts)]
    tasks = tuple(Task(f"strings/{i}", symbols.prompt(i), {"ways": tuple(one)}) for i, one in enumerate(won))
    return Testbed(
        name="strings",
        symbols=symbols,
        tasks=tasks,
        truth=lambda task, text: float(text in task.data["ways"]),
        length=length,
        policy=_lifted(table(symbols, length, spread), won, lift),
        enumerable=True,
    )


def table(
    symbols: Symbols, length: int, spread: float = 0.0, order: int | None = None
) -> Callable[[int], TabularPolicy]:
    """What makes a policy of a seed: a table with logits of N(0, spread^2)."""

    def policy(seed: int) -> TabularPolicy:
        import torch

        made = TabularPolicy(symbols, length, order)
        numbers = torch.Generator().manual_seed(derive("table", seed))
        with torch.no_grad():
            made.table.copy_(spread * torch.randn(made.table.shape, generator=numbers))
        return made

    return policy


def _lifted(
    begin: Callable[[int], TabularPolicy], won: list[tuple[str, ...]], lift: float
) -> Callable[[int], TabularPolicy]:
    def policy(seed: int) -> TabularPolicy:
        made = begin(seed)
        for prompt, ways in enumerate(won):
            for prefix, letter in {(way[:place], letter) for way in ways for place, letter in enumerate(way)}:
                made.add(prompt, prefix, letter, 2 * lift * prompt / max(1, len(won) - 1))
        return made

    return policy


def _drawn(letters: int, length: int, ways: int, seed: int) -> tuple[str, ...]:
    """Different strings, as many as asked for. ValueError when there are not that many."""
    if not 1 <= ways <= letters**length:
        raise ValueError(f"{ways} winning strings of {letters**length}; expected 1 or more, and no more than there are")
    numbers = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < ways:
        found["".join(LETTERS[below(numbers, letters)] for _ in range(length))] = None
    return tuple(found)
