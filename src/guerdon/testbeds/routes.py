"""Ways to a number: given digits, joined by + and * from left to right, are to come to a target. There are several."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations, product

from guerdon.rollouts.base import derive
from guerdon.synthetic.domain import below
from guerdon.testbeds.base import Testbed
from guerdon.testbeds.beginner import HELD_OUT, beginner, changed
from guerdon.testbeds.symbols import Symbols
from guerdon.testbeds.teach import Demonstration
from guerdon.types import Task

DIGITS = "123456789"


@lru_cache(maxsize=16)
def routes(
    biggest: int = 6, count: int = 3, least: int = 3, skill: float = 0.5, steps: int = 300, seed: int = 0
) -> Testbed:
    """'234=14' asks for each of the digits 2, 3, 4 once, to come to 14: '2+3*4' is 20 here, '2*3+4' 10, '3*4+2' 14.

    Worked out from left to right, without precedence. Tasks have at least `least` right replies; `Task.data["ways"]`
    holds them all, and what is measured is the tasks that are learned from, up to 64. skill, steps: of the policy it
    begins with, see `beginner`: it was shown all ways alike, wrong ones with one symbol changed. `distinct@k` and
    `modes` say how many ways are left.
    """
    symbols = Symbols(f"0{DIGITS}+*=.", end=".")
    numbers = random.Random(derive("routes", biggest, count, least, seed))
    drawn = [_task(symbols, *_draw(numbers, biggest, count)) for _ in range(4000)]
    tasks = tuple({task.id: task for task in drawn if len(task.data["ways"]) >= least}.values())
    return Testbed(
        name="routes",
        symbols=symbols,
        tasks=tasks,
        heldout=tasks[:HELD_OUT],
        truth=lambda task, text: float(text in task.data["ways"]),
        length=2 * count,
        policy=beginner(symbols, lambda numbers, share: _demonstrations(tasks, biggest, share, numbers), skill, steps),
    )


def worked_out(text: str) -> int | None:
    """What a chain of digits and operations comes to, from left to right; None for what is no such chain."""
    digits, signs = text[::2], text[1::2]
    if len(text) % 2 == 0 or not digits.isdigit() or not set(signs) <= {"+", "*"}:
        return None
    value = int(digits[0])
    for sign, digit in zip(signs, digits[1:], strict=True):
        value = value + int(digit) if sign == "+" else value * int(digit)
    return value


@lru_cache(maxsize=1 << 14)
def ways(digits: str, target: int) -> frozenset[str]:
    """Every chain of all these digits that comes to the target."""
    found = set()
    for order, signs in product(sorted(set(permutations(digits))), product("+*", repeat=len(digits) - 1)):
        text = order[0] + "".join(sign + digit for sign, digit in zip(signs, order[1:], strict=True))
        if worked_out(text) == target:
            found.add(text)
    return frozenset(found)


def _draw(numbers: random.Random, biggest: int, count: int) -> tuple[str, int]:
    digits = "".join(sorted(DIGITS[below(numbers, biggest)] for _ in range(count)))
    chain = digits[0] + "".join("+*"[below(numbers, 2)] + digit for digit in digits[1:])
    target = worked_out(chain)
    assert target is not None
    return digits, target


def _task(symbols: Symbols, digits: str, target: int) -> Task:
    prompt = f"{digits}={target}="
    return Task(f"routes/{prompt}", symbols.encode(prompt), {"ways": ways(digits, target), "digits": digits})


def _demonstrations(tasks: Sequence[Task], biggest: int, skill: float, numbers: random.Random) -> list[Demonstration]:
    rows = []
    for _ in range(4000):
        task = tasks[below(numbers, len(tasks))]
        known = sorted(task.data["ways"])
        reply = known[below(numbers, len(known))]
        if numbers.random() >= skill:
            place = below(numbers, len(reply))
            kind = "+*" if place % 2 else DIGITS[:biggest]
            reply = reply[:place] + changed(numbers, reply[place], kind) + reply[place + 1 :]
        rows.append((task.id.removeprefix("routes/"), reply))
    return rows
