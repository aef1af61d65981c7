"""The workloads: how many prompts, completions and tokens a step has, the texts themselves, and what pays.

Every draw is a function of the workload and the number of the step, so that all contestants are given the same.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Rollouts:
    """A GRPO step: prompts x group completions, one optimiser step.

    length: tokens of every completion, or of the longest where `mean_length` > 0: lengths are then geometric with that
    mean, cut to `shortest` .. `length`. shots: solved sums before the question. peer_micro: sequences that the peer
    takes at once in training, where its memory forbids all of them; 0: all. warmup: steps that are not counted.
    """

    what: str
    model: str
    prompts: int
    group: int
    length: int
    shots: int = 0
    mean_length: int = 0
    shortest: int = 1
    peer_micro: int = 0
    warmup: int = 1


@dataclass(frozen=True)
class Pairs:
    """A step on preference pairs: `tokens` is the length of prompt and reply together, the same on both sides."""

    what: str
    model: str
    pairs: int
    tokens: int
    warmup: int = 1


SMOL, RANDOM, QWEN = "smollm2-135m", "random", "qwen"

ROLLOUTS = {
    "S": Rollouts("SmolLM2-135M, 4 prompts of 40 tokens x 8 completions of 48", SMOL, 4, 8, 48),
    "T": Rollouts("random Llama (256 wide, 6 layers), 32 prompts of 6 characters x 8 of 24", RANDOM, 32, 8, 24),
    "L": Rollouts(
        "SmolLM2-135M, 4 prompts of about 400 tokens x 8 of 48", SMOL, 4, 8, 48, shots=26, peer_micro=8, warmup=0
    ),
    "V": Rollouts(
        "SmolLM2-135M, 8 prompts of 40 tokens x 8 of 8 to 256 tokens (geometric, mean 64)",
        *(SMOL, 8, 8, 256),
        mean_length=64,
        shortest=8,
        peer_micro=8,
        warmup=0,
    ),
    "Q": Rollouts("random Qwen3-0.6B in bfloat16, 16 prompts x 8 of 256, one GPU", QWEN, 16, 8, 256, shots=20),
}
PAIRS = {
    "DPO": Pairs("SmolLM2-135M, 8 pairs of 96 tokens a side, the reference in the step", SMOL, 8, 96),
    "RM": Pairs("SmolLM2-135M with a score head, 8 pairs of 96 tokens a side", SMOL, 8, 96),
}


def small(work: Rollouts) -> Rollouts:
    """The same in so little that all of it runs in seconds: to see that it works."""
    return replace(
        work,
        model=RANDOM,
        prompts=2,
        group=4,
        length=min(work.length, 12),
        shots=min(work.shots, 2),
        mean_length=min(work.mean_length, 6),
        shortest=min(work.shortest, 2),
        peer_micro=min(work.peer_micro, 4),
    )


def small_pairs(work: Pairs) -> Pairs:
    return replace(work, model=RANDOM, pairs=2, tokens=24)


def prompts(work: Rollouts, step: int) -> list[str]:
    """The prompts of a step, as text; all of one length but for the digits of solved sums."""
    numbers = random.Random(step)
    return [_question(work.model, work.shots, numbers) for _ in range(work.prompts)]


def _question(model: str, shots: int, numbers: random.Random) -> str:
    solved = [(a, b, f" {a + b}\n") for a, b in (_two(numbers) for _ in range(shots))]
    asked = [*solved, (*_two(numbers), "")]
    if model == SMOL:
        return "".join(f"What is {a} plus {b}?{answer}" for a, b, answer in asked)
    return "".join(f"{a}+{b}={answer.strip()}" for a, b, answer in asked)


def _two(numbers: random.Random) -> tuple[int, int]:
    return numbers.randint(10, 99), numbers.randint(10, 99)


def lengths(work: Rollouts, step: int) -> list[list[int]]:
    """Tokens of each completion of a step: [prompts][group]."""
    if not work.mean_length:
        return [[work.length] * work.group for _ in range(work.prompts)]
    numbers = random.Random(f"lengths {step}")
    return [[_geometric(work, numbers) for _ in range(work.group)] for _ in range(work.prompts)]


def _geometric(work: Rollouts, numbers: random.Random) -> int:
    drawn = 1 + int(math.log(1.0 - numbers.random()) / math.log(1.0 - 1.0 / work.mean_length))
    return min(max(drawn, work.shortest), work.length)


def score(text: str) -> float:
    """A reward that tells completions apart, so that every group has something to learn from."""
    return sum(character.isdigit() or character in "aeiou" for character in text) / max(1, len(text))


@dataclass(frozen=True)
class WrittenPair:
    """A preference in text: the prompt as the model is shown it, and two replies, which the end token closes."""

    prompt: str
    chosen: str
    rejected: str


Encode = Callable[[str], Sequence[int]]
Decode = Callable[[Sequence[int]], str]


def written_pairs(
    work: Pairs, step: int, show: Callable[[str], str], encode: Encode, decode: Decode
) -> list[WrittenPair]:
    """The pairs of a step: the right sum against a wrong one, each reply filled up to `tokens` with its prompt and end.

    show: a question as the model is shown it (its chat template).
    """
    numbers = random.Random(f"pairs {step}")
    found = []
    for _ in range(work.pairs):
        (a, b), miss = _two(numbers), numbers.choice([-3, -2, -1, 1, 2, 3])
        prompt = show(f"What is {a} plus {b}?" if work.model == SMOL else f"{a}+{b}=")
        room = work.tokens - 1 - len(encode(prompt))  # one for the end token
        replies = [_filled(a, b, value, room, encode, decode) for value in (a + b, a + b + miss)]
        found.append(WrittenPair(prompt, *replies))
    return found


def _filled(a: int, b: int, value: int, room: int, encode: Encode, decode: Decode) -> str:
    if room < 1:
        raise ValueError(f"the prompt leaves {room} tokens for a reply; expected at least 1: give pairs more tokens")
    text = f"The sum of {a} and {b} is {value}."
    while len(encode(text)) < room:
        text += f" We add the tens and then the ones, which gives {value} in all."
    return decode(list(encode(text))[:room])
