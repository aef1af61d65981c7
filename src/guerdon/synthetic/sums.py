"""Sums in characters, such as '12+7=' answered '19', whose quality can be counted: for character-level policies.

The prompts are those of the tasks `arithmetic` (level 1), so a policy can be trained on them against whatever was
learned from the pairs, and be measured by gold. `gold(prompt, reply)` of any reply whatever is

    1 right + share of right characters - 0.25 (characters too many),   at least -2,

right: the stripped reply is the sum. The share compares from the end, over the longer of the two; '29' for 19 has half.
A reply that goes on and on is the worst there is, while labellers with `length_bias` like it.
"""

from __future__ import annotations

import random
import re

from guerdon.synthetic.domain import Domain, Seen, below

LOWEST = -2.0
BIGGEST = 99
_ASKED = re.compile(r"\s*(\d+)\+(\d+)=\s*")
DIGITS = "0123456789"


def asked(prompt: str) -> str:
    """The sum that a prompt asks for. ValueError when it is no sum of two numbers."""
    found = _ASKED.fullmatch(prompt)
    if found is None:
        raise ValueError(f"the prompt {prompt[:80]!r} is no sum; expected one such as '12+7='")
    return str(int(found[1]) + int(found[2]))


def gold(prompt: str, reply: str) -> float:
    """The true quality of any reply, -2 to 2. ValueError when the prompt is no sum."""
    right, said = asked(prompt), reply.strip()
    same = sum(one == other for one, other in zip(reversed(right), reversed(said), strict=False))
    excess = max(0, len(said) - len(right))
    return max(LOWEST, float(said == right) + same / max(len(right), len(said)) - 0.25 * excess)


def draw_prompt(numbers: random.Random) -> str:
    """A sum of two numbers of 0 to 99, drawn like those of `arithmetic`."""
    a, b = below(numbers, BIGGEST + 1), below(numbers, BIGGEST + 1)
    return f"{a}+{b}="


def draw_reply(numbers: random.Random, prompt: str) -> str:
    """The sum, or one of six ways to miss it: a near number, a digit changed, lost, added, three added, said twice."""
    right = asked(prompt)
    place, digit = below(numbers, len(right)), DIGITS[below(numbers, 10)]
    near = str(abs(int(right) + (1 + below(numbers, 9)) * (1 if numbers.random() < 0.5 else -1)))
    tail = "".join(DIGITS[below(numbers, 10)] for _ in range(3))
    ways = (
        right,
        right,
        near,
        right[:place] + digit + right[place + 1 :],
        (right[:place] + right[place + 1 :]) or digit,
        right + digit,
        right + tail,
        right + right,
    )
    return ways[below(numbers, len(ways))]


def seen(prompt: str, reply: str) -> Seen:
    """What labellers see; length: in characters."""
    quality = gold(prompt, reply)
    return Seen(quality, float(len(reply.strip())), 0.0, (quality,))


DOMAIN = Domain("sums", draw_prompt, draw_reply, seen, Seen(0.5, 2.7, 0.0, (0.5,)))
"""Sums, and replies to them."""
