"""Problems made on the spot, small enough for a character-level policy: arithmetic, and strings to rework.

Prompts are plain text ending in '='. A hash of the prompt holds out one problem in ten, so that no held-out problem
is ever trained on, at any level or length.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from guerdon.rewards.verify.number import NumericMatch
from guerdon.rewards.verify.text import ExactMatch
from guerdon.rollouts.base import derive
from guerdon.tasks.base import Endless, Listed, TaskSet, held_out
from guerdon.types import Task

if TYPE_CHECKING:
    from guerdon.rewards.base import Reward

HELDOUT_TASKS = 200
"""Most held-out tasks a built-in set has; small sets have fewer."""

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Problem(NamedTuple):
    prompt: str
    answer: str
    level: int


Draw = Callable[[random.Random], Problem]


def arithmetic(level: int = 1) -> TaskSet:
    """Sums such as '12+7=', answered '19' and scored by the last number of the reply.

    level 1: + of two numbers in 0..99. 2: + and - of two in 0..99. 3: + and - of two in 0..999, * of two in 0..99.
    4: three numbers in 0..99 joined by two of + - *, * first. Each number and sign is drawn uniformly.
    """
    if level not in _LEVELS:
        raise ValueError(f"arithmetic has no level {level}; expected one of {sorted(_LEVELS)}")
    sums = _LEVELS[level]
    return _task_set("arithmetic", sums.draw, NumericMatch(), f"Arithmetic, level {level}: {sums.describe}.")


def strings(name: str, length: int = 3, min_length: int | None = None) -> TaskSet:
    """Rework a word of letters a-z, such as 'reverse abc=' answered 'cba'; scored by exact match.

    name: 'copy', 'reverse', 'sort' (a to z) or 'double' (every letter twice). The word has `length` letters, or
    between `min_length` and `length` of them, each length as often; the length is the level. 2 <= length <= 64.
    """
    if name not in STRINGS:
        raise ValueError(f"there is no string task {name!r}; expected one of {sorted(STRINGS)}")
    shortest = length if min_length is None else min_length
    if not 2 <= shortest <= length <= 64:
        raise ValueError(f"{name}: lengths {shortest} to {length}; expected 2 <= min_length <= length <= 64")

    def draw(numbers: random.Random) -> Problem:
        count = shortest + _below(numbers, length - shortest + 1)
        word = "".join(LETTERS[_below(numbers, 26)] for _ in range(count))
        return Problem(f"{name} {word}=", STRINGS[name](word), count)

    lengths = str(length) if shortest == length else f"{shortest} to {length}"
    return _task_set(name, draw, ExactMatch(), f"Write a word again, task '{name}', {lengths} letters a-z.")


STRINGS: dict[str, Callable[[str], str]] = {
    "copy": lambda word: word,
    "reverse": lambda word: word[::-1],
    "sort": lambda word: "".join(sorted(word)),
    "double": lambda word: "".join(letter * 2 for letter in word),
}
"""What each string task does to its word."""


class _Sums(NamedTuple):
    describe: str
    draw: Draw


def _two(level: int, signs: str, bounds: dict[str, int]) -> Draw:
    def draw(numbers: random.Random) -> Problem:
        sign = signs[_below(numbers, len(signs))]
        a, b = _below(numbers, bounds[sign]), _below(numbers, bounds[sign])
        return Problem(f"{a}{sign}{b}=", str(_apply(a, sign, b)), level)

    return draw


def _three(numbers: random.Random) -> Problem:
    a, b, c = (_below(numbers, 100) for _ in range(3))
    first, second = ("+-*"[_below(numbers, 3)] for _ in range(2))
    late = second == "*" and first != "*"
    value = _apply(a, first, b * c) if late else _apply(_apply(a, first, b), second, c)
    return Problem(f"{a}{first}{b}{second}{c}=", str(value), 4)


def _apply(a: int, sign: str, b: int) -> int:
    return {"+": a + b, "-": a - b, "*": a * b}[sign]


_LEVELS = {
    1: _Sums("+ of two numbers in 0..99", _two(1, "+", {"+": 100})),
    2: _Sums("+ and - of two numbers in 0..99", _two(2, "+-", {"+": 100, "-": 100})),
    3: _Sums("+ and - of two numbers in 0..999, * in 0..99", _two(3, "+-*", {"+": 1000, "-": 1000, "*": 100})),
    4: _Sums("three numbers in 0..99 joined by two of + - *", _three),
}


def _task_set(name: str, draw: Draw, reward: Reward, describe: str) -> TaskSet:
    def make(i: int, seed: int) -> Task:
        numbers = random.Random(derive(name, "train", seed, i))
        problem = draw(numbers)
        while held_out(problem.prompt):
            problem = draw(numbers)
        return _task(name, problem)

    return TaskSet(name, Endless(make), Listed(_heldout(name, draw)), reward, describe)


def _heldout(name: str, draw: Draw) -> tuple[Task, ...]:
    numbers = random.Random(derive(name, "held out"))
    found: dict[str, Problem] = {}
    for _ in range(40 * HELDOUT_TASKS):
        problem = draw(numbers)
        if held_out(problem.prompt):
            found.setdefault(problem.prompt, problem)
        if len(found) == HELDOUT_TASKS:
            break
    return tuple(_task(name, problem) for problem in found.values())


def _task(name: str, problem: Problem) -> Task:
    task_id = f"{name}/{problem.prompt.removeprefix(name + ' ').removesuffix('=')}"
    return Task(task_id, problem.prompt, {"answer": problem.answer, "level": problem.level})


def _below(numbers: random.Random, n: int) -> int:
    # Only random() is promised to give the same numbers in every Python version; randrange() is not.
    return int(numbers.random() * n)
