"""Questions that cannot all be answered, with a symbol to abstain and one to say how sure one is."""

from __future__ import annotations

from functools import lru_cache

from guerdon.testbeds.base import Testbed
from guerdon.testbeds.chance import chance
from guerdon.testbeds.symbols import Symbols
from guerdon.testbeds.trees import LETTERS, table
from guerdon.types import Task

ABSTAIN = "!"
KNOWN = (1.0, 0.9, 0.75, 0.6, 0.4, 0.25)
"""How often the best answer to a question comes out right, of the six kinds by turns."""


@lru_cache(maxsize=32)
def doubt(prompts: int = 24, options: int = 4, levels: int = 5, spread: float = 0.5) -> Testbed:
    """A reply is an option, or '!' to abstain, and a digit: how sure one is, from 0 (never) to levels - 1 (certain).

    The best option of a question comes out right with its chance of `KNOWN`, the others share the rest: with four
    options, a question of 0.25 can only be guessed and is called unanswerable. `Task.data` holds `answer`, `known` and
    `answerable`. The truth is the chance to come out right, 0 for abstaining, so the best is `best` and never
    abstains; what abstaining and honesty are worth is for a reward to say. `attempted`: share not abstained;
    `abstained_unanswerable`: of the unanswerable; `brier`: mean squared difference of how sure one says to be and the
    chance, of what was attempted, plus nothing for the rest.
    """
    digits = "".join(str(level) for level in range(levels))
    symbols = Symbols(LETTERS[:options] + ABSTAIN + digits, prompts=prompts)
    tasks = []
    for i in range(prompts):
        known = KNOWN[i % len(KNOWN)]
        data = {"answer": LETTERS[i % options], "known": known, "answerable": known > 1 / options}
        tasks.append(Task(f"doubt/{i}", symbols.prompt(i), data))

    def truth(task: Task, text: str) -> float:
        if not attempted(text):
            return 0.0
        known = float(task.data["known"])
        return known if text[0] == task.data["answer"] else (1 - known) / (options - 1)

    def attempted(text: str) -> bool:
        return text[0] in LETTERS[:options] and text[1] in digits

    def brier(task: Task, text: str) -> float:
        return (stated(text, levels) - truth(task, text)) ** 2 if attempted(text) else 0.0

    def abstained(task: Task, text: str) -> float | None:
        return None if task.data["answerable"] else float(text[0] == ABSTAIN)

    return Testbed(
        name="doubt",
        symbols=symbols,
        tasks=tuple(tasks),
        truth=truth,
        length=2,
        policy=table(symbols, 2, spread),
        rewards=(chance("verifier", truth),),
        best=sum(task.data["known"] for task in tasks) / prompts,
        traits={
            "attempted": lambda task, text: float(attempted(text)),
            "abstained_unanswerable": abstained,
            "brier": brier,
        },
        enumerable=True,
    )


def stated(text: str, levels: int) -> float:
    """How sure a reply says to be, 0 to 1; 0 where it says nothing."""
    return int(text[1]) / (levels - 1) if text[1:2].isdigit() else 0.0
