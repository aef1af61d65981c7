"""DAPO: do a wider upper clip and informative groups learn more from as many tokens, and keep more ways open?

On the ladder (`guerdon.testbeds.ladder`), 4 gradient steps per batch for everybody, so that clips matter. Groups that
DAPO drops have cost their tokens. `narrow clip` is DAPO with 0.2 on both sides; `all groups` is DAPO that drops none.
"""

from __future__ import annotations

from dataclasses import replace

from guerdon.claims.base import Claim, Expect, Measured
from guerdon.methods.dapo import dapo
from guerdon.methods.grpo import grpo
from guerdon.testbeds.ladder import SOURCE, climb

DAPO, GRPO, NARROW, ALL = "DAPO", "GRPO", "narrow clip", "all groups"
METHODS = {
    DAPO: dapo(minibatches=4),
    GRPO: grpo(minibatches=4),
    NARROW: dapo(clip_high=0.2, minibatches=4),
    ALL: replace(dapo(minibatches=4), filters=()),
}


def measure(arm: str, seed: int, quick: bool) -> Measured:
    return climb(METHODS[arm], seed, quick)


CLAIM = Claim(
    slug="dapo",
    claim="Clip-higher keeps entropy up, and dynamic sampling makes more of as many tokens than GRPO does.",
    arms=(DAPO, GRPO, NARROW, ALL),
    run=measure,
    expect=(
        Expect("area", DAPO, GRPO),
        Expect("entropy", DAPO, NARROW),
        Expect("area", DAPO, ALL, control=True),
        Expect("modes", DAPO, GRPO, control=True),
    ),
    source=(*SOURCE, "guerdon.methods.grpo", "guerdon.filters"),
)
