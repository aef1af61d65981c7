"""Codes of many symbols of which every one has to be right: credit over a long reply, with the truth of each step."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache

import torch

from guerdon.rollouts.base import derive
from guerdon.synthetic.domain import below
from guerdon.testbeds.base import Testbed
from guerdon.testbeds.exact import MOST, count
from guerdon.testbeds.symbols import Symbols
from guerdon.testbeds.tabular import TabularPolicy
from guerdon.testbeds.trees import LETTERS
from guerdon.types import Task


@lru_cache(maxsize=32)
def locks(
    prompts: int = 8, letters: int = 4, length: int = 8, lift: float = 1.5, hint: int = 0, seed: int = 0
) -> Testbed:
    """Codes of `length` letters, one for each prompt, worth 1 when whole, else 0.

    A policy has logits for each place, whatever stands before it, and begins with `lift` on the right letter of each,
    give or take N(0, 1): how likely a code is at first is known, and it is the longer the rarer. `Task.data["answer"]`
    is the code; `steps` gives the truth of each place. hint: with 1 or more, `Task.data["hinted"]` is another prompt
    for the same code, at which the first so many letters are all but sure.
    """
    symbols = Symbols(LETTERS[:letters], prompts=prompts * (2 if hint else 1))
    numbers = random.Random(derive("locks", seed))
    codes = ["".join(LETTERS[below(numbers, letters)] for _ in range(length)) for _ in range(prompts)]
    tasks = tuple(_task(symbols, i, code, prompts if hint else 0) for i, code in enumerate(codes))
    return Testbed(
        name="locks",
        symbols=symbols,
        tasks=tasks,
        truth=lambda task, text: float(text == task.data["answer"]),
        length=length,
        policy=_lifted(symbols, codes, lift, hint),
        traits={"steps": lambda task, text: sum(steps(task, text)) / length},
        enumerable=prompts * count(symbols, length) <= MOST,
    )


def steps(task: Task, text: str) -> list[bool]:
    """Whether each letter of a reply is that of the code."""
    return [said == right for said, right in zip(text, task.data["answer"], strict=False)]


def _task(symbols: Symbols, number: int, code: str, hinted: int) -> Task:
    more = {"hinted": symbols.prompt(hinted + number)} if hinted else {}
    return Task(f"locks/{number}", symbols.prompt(number), {"answer": code, **more})


SURE = 12.0
"""A logit that leaves the others next to nothing."""


def _lifted(symbols: Symbols, codes: list[str], lift: float, hint: int) -> Callable[[int], TabularPolicy]:
    def policy(seed: int) -> TabularPolicy:
        made = TabularPolicy(symbols, len(codes[0]), order=0)
        numbers = torch.Generator().manual_seed(derive("locks", seed))
        with torch.no_grad():
            made.table.copy_(torch.randn(made.table.shape, generator=numbers))
            for prompt in range(symbols.prompts):
                code = codes[prompt % len(codes)]
                for place, letter in enumerate(code):
                    sure = prompt >= len(codes) and place < hint
                    row = made.trunk.row(prompt, code[:place])
                    made.table[row, symbols.encode(letter)[0]] += SURE if sure else lift
        return made

    return policy
