"""Reasoning, then an answer in many words of which few depend on it: what a policy thinks of a reference can reward.

'3+4=' is answered 'r7;' and a sentence, such as 'c7ba', in which one symbol says the result and the others are
wording. A reference is one such sentence, with wording drawn at random: no reply can be expected to repeat it, and yet
the symbol of the result is there.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

from guerdon.rollouts.base import derive
from guerdon.synthetic.domain import below
from guerdon.testbeds.base import Testbed
from guerdon.testbeds.beginner import beginner, changed, split
from guerdon.testbeds.symbols import Symbols
from guerdon.testbeds.teach import Demonstration
from guerdon.types import Task

DIGITS, BREAK = "0123456789", ";"


@lru_cache(maxsize=16)
def reference(
    wording: int = 5, choices: int = 3, place: int = 2, answers: int = 1, skill: float = 0.4, steps: int = 400
) -> Testbed:
    """Sums of two digits, by their last digit; the reasoning is that digit, the sentence `wording` symbols of `choices`
    each with the result written `answers` times at `place`. Worth 1 when reasoning and sentence both say the result.

    skill, steps: of the policy it begins with, see `beginner`; wrong demonstrations reason to another digit, and
    every sentence says what its reasoning does. `Task.data` holds
    `result` and `reference` (a sentence). `reasoned`: the reasoning is right; `said`: the sentence is; `alike`: the
    sentence is the reference word for word, which the best policy has one time in choices ** wording.
    """
    letters = "abcdefgh"[:choices]
    symbols = Symbols(f"{DIGITS}{letters}+={BREAK}.", end=".")
    numbers = random.Random(derive("reference", wording, choices, place, answers))

    def sentence(result: str, numbers: random.Random) -> str:
        words = [letters[below(numbers, choices)] for _ in range(wording)]
        return "".join([*words[:place], result * answers, *words[place:]])

    def task(a: int, b: int) -> Task:
        result = str((a + b) % 10)
        data = {"result": result, "reference": sentence(result, numbers)}
        return Task(f"reference/{a}+{b}=", symbols.encode(f"{a}+{b}="), data)

    def reasoned(task: Task, text: str) -> float:
        return float(text.partition(BREAK)[0] == task.data["result"])

    def said(task: Task, text: str) -> float:
        spoken = text.partition(BREAK)[2]
        return float(_result_of(spoken, place, answers, wording) == task.data["result"])

    tasks, held = split([task(a, b) for a in range(100) for b in range(10)])

    def demonstrations(numbers: random.Random, skill: float) -> Sequence[Demonstration]:
        rows = []
        for one in tasks:
            right = one.data["result"]
            result = right if numbers.random() < skill else changed(numbers, right, DIGITS)
            rows.append((one.id.removeprefix("reference/"), f"{result}{BREAK}{sentence(result, numbers)}"))
        return rows

    return Testbed(
        name="reference",
        symbols=symbols,
        tasks=tasks,
        heldout=held,
        truth=lambda task, text: reasoned(task, text) * said(task, text),
        length=wording + answers + 3,
        policy=beginner(symbols, demonstrations, skill, steps),
        traits={
            "reasoned": reasoned,
            "said": said,
            "alike": lambda task, text: float(text.partition(BREAK)[2] == task.data["reference"]),
        },
    )


def _result_of(sentence: str, place: int, answers: int, wording: int) -> str | None:
    """The digit that a sentence says as often as it should, where it should; None for what is no such sentence."""
    digits = sentence[place : place + answers]
    fine = len(sentence) == wording + answers and digits.isdigit() and len(set(digits)) == 1
    return digits[0] if fine else None
