"""Flawed positives: a way to be right without having worked, which the verifier cannot tell and the truth can."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import lru_cache

from guerdon.rollouts.base import derive
from guerdon.synthetic.domain import below
from guerdon.testbeds.base import Testbed
from guerdon.testbeds.chance import chance
from guerdon.testbeds.locks import SURE
from guerdon.testbeds.symbols import Symbols
from guerdon.testbeds.tabular import TabularPolicy
from guerdon.testbeds.trees import LETTERS
from guerdon.types import Task

GUESS = "?"


@lru_cache(maxsize=32)
def shortcuts(
    prompts: int = 4,
    letters: int = 4,
    working: int = 3,
    luck: float = 0.6,
    lift: float = 1.5,
    guess: float = 0.0,
    seed: int = 0,
) -> Testbed:
    """A reply is '?', which is right with the chance `luck` whatever one does, or a working of some letters.

    A working is right when it is the task's own (`Task.data["answer"]`). The verifier says whether a reply came out
    right; the truth is the chance that it does, so the best policy, worth 1, always works. `genuine` is the share of
    right workings, `guessed` of guesses, `flawed` of replies that come out right by luck; of all that come out right
    (`truth`) the share flawed / truth is flawed. A policy begins with `lift` on the right letter after a right
    beginning, and with the logit `guess` on '?'.
    """
    symbols = Symbols(LETTERS[:letters] + GUESS + ".", end=".", prompts=prompts)
    numbers = random.Random(derive("shortcuts", seed))
    codes = ["".join(LETTERS[below(numbers, letters)] for _ in range(working)) for _ in range(prompts)]

    def truth(task: Task, text: str) -> float:
        return luck if text == GUESS else float(text == task.data["answer"])

    return Testbed(
        name="shortcuts",
        symbols=symbols,
        tasks=tuple(Task(f"shortcuts/{i}", symbols.prompt(i), {"answer": code}) for i, code in enumerate(codes)),
        truth=truth,
        length=working + 1,
        policy=_beginner(symbols, codes, lift, guess),
        rewards=(chance("verifier", truth),),
        traits={
            "genuine": lambda task, text: float(text == task.data["answer"]),
            "guessed": lambda task, text: float(text == GUESS),
            "flawed": lambda task, text: luck * (text == GUESS),
        },
        enumerable=True,
    )


def first_error(task: Task, text: str) -> int:
    """Index of the first step that is wrong, a guess being a wrong first step; -1: none. What a perfect judge says."""
    answer = task.data["answer"]
    return next((place for place, right in enumerate(answer) if text[place : place + 1] != right), -1)


def _beginner(symbols: Symbols, codes: list[str], lift: float, guess: float) -> Callable[[int], TabularPolicy]:
    """Knows the form (a reply ends after its working, or after a guess) and something of each working."""
    working = len(codes[0])

    def policy(seed: int) -> TabularPolicy:
        made = TabularPolicy(symbols, working + 1)
        ends = made.table.detach().view(symbols.prompts, -1, symbols.size)
        ends[..., -2:] = -SURE  # neither '?' nor the end, but where they belong
        ends[:, int(made.trunk.first[working]) :, -1] = SURE
        for prompt, code in enumerate(codes):
            made.set(prompt, "", {GUESS: guess})
            made.set(prompt, GUESS, {".": SURE})
            for place, letter in enumerate(code):
                made.set(prompt, code[:place], {letter: lift})
        return made

    return policy
