"""Sums of one to several digits, with or without working, for a small transformer that was taught a little of it.

'3+4+5=' is answered by '12', or with working by its running sums, '7,12': what counts is what stands last. A sum that
comes out right although a step is wrong or left out is a flawed positive. Where an operand is hidden, '3+_=', nobody
can know the answer, and '!' is there to say so.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

from guerdon.rollouts.base import derive
from guerdon.synthetic.domain import below
from guerdon.testbeds.base import Testbed
from guerdon.testbeds.beginner import at_level, beginner, changed, split
from guerdon.testbeds.symbols import Symbols
from guerdon.testbeds.teach import Demonstration
from guerdon.types import Task

DIGITS = "0123456789"
ABSTAIN = "!"


@lru_cache(maxsize=16)
def sums(
    most: int = 3,
    least: int = 2,
    biggest: int = 9,
    working: float = 0.0,
    hidden: float = 0.0,
    skill: float = 0.4,
    steps: int = 400,
    seed: int = 0,
) -> Testbed:
    """Sums of `least` to `most` numbers of 0 to `biggest`, each count as often; worth 1 when the last number is right.

    working: share of the demonstrations that show it. hidden: share of the tasks that hide an operand. skill, steps: of
    the policy it begins with, see `beginner`; wrong demonstrations have one digit changed, or, where an operand
    is hidden, a guess in place of '!'. `right_2` and so on by the count of numbers (`Task.data["level"]`); `flawed`:
    came out right with a step that is wrong or left out; `worked`: showed working; `attempted`: did not abstain;
    `abstained_hidden`: of tasks that hide an operand. The best policy is right wherever nothing is hidden: `best`.
    """
    symbols = Symbols(f"{DIGITS}+,=_!.", end=".")
    numbers = random.Random(derive("sums", most, least, biggest, str(hidden), seed))
    drawn = [_draw(numbers, symbols, least, most, biggest, hidden) for _ in range(6000)]
    tasks, held = split(drawn)
    shown = sum(task.data["hidden"] for task in held) / len(held)
    longest = len(",".join(map(str, accumulate([biggest] * most)))) - len(str(biggest)) if working else 0
    traits = {
        "flawed": lambda task, text: float(truth(task, text) > 0 and not all(checked(task, text))),
        "worked": lambda task, text: float("," in text),
        "attempted": lambda task, text: float(text != ABSTAIN),
        "abstained_hidden": lambda task, text: float(text == ABSTAIN) if task.data["hidden"] else None,
    }
    return Testbed(
        name="sums",
        symbols=symbols,
        tasks=tasks,
        heldout=held,
        truth=truth,
        length=max(longest, len(str(most * biggest))) + 2,
        policy=beginner(symbols, lambda numbers, share: _demonstrations(tasks, working, share, numbers), skill, steps),
        best=1 - shown,
        traits={**traits, **{f"right_{n}": at_level(n, truth) for n in range(least, most + 1)}},
    )


def truth(task: Task, text: str) -> float:
    """1 when the last number is the sum, leading zeros aside; of a hidden sum nobody is right but by luck."""
    last = text.rpartition(",")[2]
    return float(last.isdigit() and int(last) == task.data["sum"])


def checked(task: Task, text: str) -> list[bool]:
    """Whether each step that the sum takes is there and right, in order: the truth of the working."""
    said = text.split(",")
    wanted = task.data["running"]
    return [place < len(said) and said[place] == str(right) for place, right in enumerate(wanted)]


def _draw(numbers: random.Random, symbols: Symbols, least: int, most: int, biggest: int, hidden: float) -> Task:
    count = least + below(numbers, most - least + 1)
    operands = [below(numbers, biggest + 1) for _ in range(count)]
    hides = numbers.random() < hidden
    place = below(numbers, count)
    shown = [("_" if hides and i == place else str(n)) for i, n in enumerate(operands)]
    prompt = "+".join(shown) + "="
    running = list(accumulate(operands))[1:] or operands
    data: dict[str, Any] = {"sum": running[-1], "running": running, "level": count, "hidden": hides}
    data["answer"] = ABSTAIN if hides else str(running[-1])
    return Task(f"sums/{prompt}", symbols.encode(prompt), data)


def _demonstrations(tasks: Sequence[Task], working: float, skill: float, numbers: random.Random) -> list[Demonstration]:
    rows = []
    for task in tasks:
        right, shows = numbers.random() < skill, numbers.random() < working
        reply = ",".join(map(str, task.data["running"])) if shows else str(task.data["sum"])
        if task.data["hidden"]:
            reply = ABSTAIN if right else str(task.data["sum"])
        elif not right:
            reply = _spoiled(numbers, reply)
        rows.append((task.id.removeprefix("sums/"), reply))
    return rows


def _spoiled(numbers: random.Random, reply: str) -> str:
    """One number of the reply with a digit changed."""
    said = reply.split(",")
    place = below(numbers, len(said))
    said[place] = changed(numbers, said[place], DIGITS)
    return ",".join(said)
