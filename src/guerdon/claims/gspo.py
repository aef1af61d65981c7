"""GSPO: does one ratio for the whole sequence learn more than a ratio for each token?

On the ladder (`guerdon.testbeds.ladder`), 4 gradient steps per batch. GSPO has its paper's range of a few ten
thousandths, of ratios that are geometric means; `as wide as GRPO` is GSPO with 0.2 on both sides.
"""

from __future__ import annotations

from guerdon.claims.base import Claim, Expect, Measured
from guerdon.methods.grpo import grpo
from guerdon.methods.gspo import gspo
from guerdon.testbeds.ladder import SOURCE, climb

GSPO, GRPO, WIDE = "GSPO", "GRPO", "as wide as GRPO"
METHODS = {GSPO: gspo(minibatches=4), GRPO: grpo(minibatches=4), WIDE: gspo(0.2, 0.2, minibatches=4)}


def measure(arm: str, seed: int, quick: bool) -> Measured:
    return climb(METHODS[arm], seed, quick)


CLAIM = Claim(
    slug="gspo",
    claim="Ratios of whole sequences, clipped closely, learn more from as many tokens than GRPO's ratios of tokens.",
    arms=(GSPO, GRPO, WIDE),
    run=measure,
    expect=(
        Expect("area", GSPO, GRPO),
        Expect("truth", GSPO, GRPO),
        Expect("area", WIDE, GRPO, control=True),
    ),
    source=(*SOURCE, "guerdon.methods.grpo"),
)
