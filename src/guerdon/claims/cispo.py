"""CISPO: does a loss that never silences a token learn more, where batches are used several times?

On the ladder (`guerdon.testbeds.ladder`), two passes of 4 gradient steps over each batch for everybody, so that ratios
leave their bounds. DAPO is without dynamic sampling: the losses are compared, not the filters.
"""

from __future__ import annotations

from dataclasses import replace

from guerdon.claims.base import Claim, Expect, Measured
from guerdon.methods.cispo import cispo
from guerdon.methods.dapo import dapo
from guerdon.methods.grpo import grpo
from guerdon.testbeds.ladder import SOURCE, climb

CISPO, GRPO, DAPO = "CISPO", "GRPO", "DAPO"
METHODS = {
    CISPO: cispo(epochs=2, minibatches=4),
    GRPO: grpo(epochs=2, minibatches=4),
    DAPO: replace(dapo(epochs=2, minibatches=4), filters=()),
}


def measure(arm: str, seed: int, quick: bool) -> Measured:
    return climb(METHODS[arm], seed, quick)


CLAIM = Claim(
    slug="cispo",
    claim="Clipping the weight instead of the loss keeps every token's gradient, and learns faster than GRPO and DAPO.",
    arms=(CISPO, GRPO, DAPO),
    run=measure,
    expect=(
        Expect("area", CISPO, GRPO),
        Expect("area", CISPO, DAPO),
        Expect("entropy", CISPO, GRPO, control=True),
    ),
    source=(*SOURCE, "guerdon.methods.grpo", "guerdon.methods.dapo"),
)
