"""Thinking or not: a first symbol that costs many more, and pays on hard tasks alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from guerdon.testbeds.base import Testbed, Trait
from guerdon.testbeds.chance import chance
from guerdon.testbeds.locks import SURE
from guerdon.testbeds.symbols import Symbols
from guerdon.testbeds.tabular import TabularPolicy
from guerdon.types import Task

THINK, SKIP, FILLER, END = "T", "N", "-", "."
ACCURACY = {"easy": {THINK: 0.95, SKIP: 0.95}, "hard": {THINK: 0.80, SKIP: 0.20}}
"""How often a reply to a kind of task comes out right, by its mode."""


@lru_cache(maxsize=32)
def modes(prompts: int = 2, thought: int = 8, said: int = 2, skip: float = -6.0) -> Testbed:
    """Tasks easy and hard by turns; a reply of T and `thought` symbols in all, or of N and `said`, the end included.

    Whether a reply comes out right is drawn, with the chance of `ACCURACY`; any other form is never right. A policy
    begins with thinking but for a logit `skip` on N, and knows both forms. The best accuracy is 0.875, of which the
    easy half needs no thought: `skipped_easy` and `skipped_hard` are the shares of N, `length` what it costs.
    """
    symbols = Symbols(THINK + SKIP + FILLER + END, end=END, prompts=prompts)
    forms = {THINK: THINK + FILLER * (thought - 2), SKIP: SKIP + FILLER * (said - 2)}
    kinds = [("easy", "hard")[i % 2] for i in range(prompts)]

    def truth(task: Task, text: str) -> float:
        mode = text[:1]
        return ACCURACY[task.data["kind"]][mode] if forms.get(mode) == text else 0.0

    return Testbed(
        name="modes",
        symbols=symbols,
        tasks=tuple(Task(f"modes/{i}", symbols.prompt(i), {"kind": kind}) for i, kind in enumerate(kinds)),
        truth=truth,
        length=thought,
        policy=_thinker(symbols, forms, thought, skip),
        rewards=(chance("verifier", truth),),
        best=sum(max(ACCURACY[kind].values()) for kind in kinds) / prompts,
        traits={"skipped_easy": _skipped("easy"), "skipped_hard": _skipped("hard")},
        enumerable=True,
    )


def _skipped(kind: str) -> Trait:
    return lambda task, text: float(text[:1] == SKIP) if task.data["kind"] == kind else None


def _thinker(symbols: Symbols, forms: dict[str, str], length: int, skip: float) -> Callable[[int], TabularPolicy]:
    def policy(seed: int) -> TabularPolicy:
        made = TabularPolicy(symbols, length)
        for prompt in range(symbols.prompts):
            made.set(prompt, "", {THINK: 0.0, SKIP: skip, FILLER: -SURE, END: -SURE})
            for form in forms.values():
                for place in range(1, len(form)):
                    made.set(prompt, form[:place], {form[place]: SURE})
                made.set(prompt, form, {END: SURE})
        return made

    return policy
