"""The ladder that base algorithms climb: one testbed and one budget, so that their claims are about the same thing.

Sixteen prompts of three letters out of four, of which four of 64 strings win. A policy begins with logits of N(0, 1),
and 0 to 4 more on what leads to a winning string: it gets the first prompt right next to never, the last most of the
time. 128 replies per update, AdamW at 0.1 for everybody.
"""

from __future__ import annotations

from typing import Any

from guerdon.claims.base import Measured
from guerdon.method import Method
from guerdon.testbeds.arm import Budget, run_arm
from guerdon.testbeds.base import Testbed
from guerdon.testbeds.trees import strings

TOKENS, PROMPTS, SAMPLES, LR = 24_000, 16, 8, 0.1
MARGIN = 0.02
"""By how much less of the truth a method may have and still count as good as another."""

SOURCE = (
    "guerdon.testbeds.ladder",
    "guerdon.testbeds.arm",
    "guerdon.testbeds.trees",
    "guerdon.testbeds.figures",
    "guerdon.losses.policy",
    "guerdon.advantages.group",
)
"""Modules that every claim on the ladder depends on."""


def rungs() -> Testbed:
    """The testbed of the ladder."""
    return strings(prompts=PROMPTS, letters=4, length=3, ways=4, spread=1.0, lift=2.0)


def climb(method: Method, seed: int, quick: bool, lr: float = LR, tokens: int = TOKENS, **settings: Any) -> Measured:
    """What a method comes to on the ladder; quick: with a tenth of the tokens."""
    budget = Budget(tokens // 10 if quick else tokens, PROMPTS, SAMPLES, points=10)
    return run_arm(method, rungs(), seed, budget, lr=lr, **settings)


def less(than: Measured, metric: str = "truth", by: float = MARGIN) -> Measured:
    """A bound that is no arm of its own: what another came to, with `by` taken off a metric."""
    return Measured({metric: than.figures[metric] - by}, {})
