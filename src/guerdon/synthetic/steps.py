"""Sums of several numbers, worked out step by step, with a wrong step at a known place: for process supervision.

The prompt '17+25+8=' is solved by '17+25=42' and '42+8=50'. A step is right when it goes on from the right running
value with the right next number and says the right result; its label is true when it and all before it are right. A
wrong solution has a wrong result at one step and goes on from it without a further mistake, so its end is wrong too;
a lucky one makes a second mistake at its last step, and ends right.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from guerdon.synthetic.domain import below

BIGGEST = 49
_PROMPT = re.compile(r"\s*\d+(?:\+\d+)+=\s*")
_STEP = re.compile(r"\s*(\d+)\s*\+\s*(\d+)\s*=\s*(\d+)\s*")


@dataclass(frozen=True)
class Solution:
    """Steps towards a sum. labels: of each step. first_error: index of the first wrong step, -1 for none."""

    steps: tuple[str, ...]
    labels: tuple[bool, ...]
    first_error: int
    ends_right: bool


def terms(prompt: str) -> list[int]:
    """The numbers that a prompt adds. ValueError when it is no sum."""
    if _PROMPT.fullmatch(prompt) is None:
        raise ValueError(f"the prompt {prompt[:80]!r} is no sum; expected one such as '17+25+8='")
    return [int(number) for number in re.findall(r"\d+", prompt)]


def gold(prompt: str, steps: Sequence[str]) -> Solution:
    """Any steps whatever, with their labels; the end is right when the last step's result is the sum.

    Steps beyond those needed are wrong. ValueError when the prompt is no sum.
    """
    numbers = terms(prompt)
    labels: list[bool] = []
    running, sound, end = numbers[0], True, None
    for place, step in enumerate(steps):
        found = _STEP.fullmatch(step)
        said = tuple(map(int, found.groups())) if found else None
        following = numbers[place + 1] if place + 1 < len(numbers) else None
        sound = (
            sound and said is not None and following is not None and said == (running, following, running + following)
        )
        labels.append(sound)
        running, end = running + (following or 0), said[2] if said else None
    first = labels.index(False) if False in labels else -1
    return Solution(tuple(steps), tuple(labels), first, end == sum(numbers))


def draw_prompt(numbers: random.Random, least: int = 3, most: int = 5) -> str:
    """A sum of `least` to `most` numbers of 1 to 49."""
    count = least + below(numbers, most - least + 1)
    return "+".join(str(1 + below(numbers, BIGGEST)) for _ in range(count)) + "="


def draw_solution(numbers: random.Random, prompt: str, wrong: float = 0.5, lucky: float = 0.0) -> Solution:
    """Steps with their labels. wrong: the share of solutions with a wrong step, at each place as often; lucky: the
    share of those that end right all the same (the wrong step is then never the last)."""
    added = terms(prompt)
    last, is_wrong, is_lucky = len(added) - 2, numbers.random() < wrong, numbers.random() < lucky
    place = below(numbers, last if is_lucky and last else last + 1) if is_wrong else -1
    amount = (1 + below(numbers, 9)) * (1 if numbers.random() < 0.5 else -1)
    steps, running = [], added[0]
    for index, number in enumerate(added[1:]):
        result = running + number
        if index == place:
            result = result + amount if result + amount >= 0 else result - amount
        if index == last and is_wrong and is_lucky and place < last:
            result = sum(added)
        steps.append(f"{running}+{number}={result}")
        running = result
    return gold(prompt, steps)
