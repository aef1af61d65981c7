"""Comparisons that take a second: a random model, short sums, and a reward that always varies."""

from __future__ import annotations

from pathlib import Path

from guerdon.compare.base import Comparison, read_arm

REWARD = """
from guerdon.rewards.calling import in_process

@in_process
def score(completions):
    return [sum(letter.isdigit() for letter in text) / 4 for text in completions]
"""


def reward_in(folder: Path) -> str:
    """The reward, in a file of the folder."""
    (folder / "digits.py").write_text(REWARD)
    return str(folder / "digits.py") + ":score"


def comparison(model: Path, folder: Path, *arms: str, budget: int = 100, **given: object) -> Comparison:
    """Two arms of three or so steps each, with a look in the middle."""
    shared = {"model": str(model), "reward": reward_in(folder), "prompts_per_step": 2, "samples_per_prompt": 4}
    shared |= {"max_new_tokens": 4, "lr": 1e-2, **given}
    chosen = tuple(map(read_arm, arms or ("grpo", "rloo")))
    return Comparison(chosen, budget, shared, points=2, items=3, decodes=4, on_the_way=2)


def ignore(*words: object) -> None:
    """Hears and says nothing."""


def never() -> bool:
    return False
