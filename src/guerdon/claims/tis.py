"""TIS: does weighing by trainer / sampler make up for a sampler that is not the policy?

On the ladder (`guerdon.testbeds.ladder`). Of the sampler's positions 10% have the logits of their two likeliest symbols
swapped; log-probabilities are as it really drew. RLOO is what is corrected, as its gradient without that fault is
unbiased: `squared_bias` is of the gradient at the start, over 300 batches, in units of the exact gradient
(`guerdon.testbeds.gradients`). The cap is 2; `by sequence` weighs whole replies. `sound` has no fault.
"""

from __future__ import annotations

from guerdon.advantages.correction import per_sequence
from guerdon.claims.base import Claim, Expect, Measured
from guerdon.methods.rloo import rloo
from guerdon.methods.tis import truncated_importance
from guerdon.testbeds.gradients import gradient_figures
from guerdon.testbeds.ladder import SOURCE, climb, rungs
from guerdon.testbeds.sampler import swapped

TIS, SEQUENCE, PLAIN, SOUND = "TIS", "by sequence", "uncorrected", "sound"
METHODS = {
    TIS: truncated_importance(rloo()),
    SEQUENCE: truncated_importance(rloo(), level=per_sequence),
    PLAIN: rloo(),
    SOUND: rloo(),
}


def measure(arm: str, seed: int, quick: bool) -> Measured:
    noise = None if arm == SOUND else swapped(0.1)
    found = climb(METHODS[arm], seed, quick, noise=noise)
    figures = gradient_figures(METHODS[arm], rungs(), seed, 30 if quick else 300, noise=noise)
    return Measured({**found.figures, **figures}, found.budget)


CLAIM = Claim(
    slug="tis",
    claim="Truncated importance weights bring the gradient closer to the policy's own, and learning does not suffer.",
    arms=(TIS, SEQUENCE, PLAIN, SOUND),
    run=measure,
    expect=(
        Expect("squared_bias", TIS, PLAIN, "lower"),
        Expect("area", TIS, PLAIN),
        Expect("squared_bias", SEQUENCE, TIS, "lower", control=True),
        Expect("squared_bias", SOUND, PLAIN, "lower", control=True),
    ),
    source=(*SOURCE, "guerdon.testbeds.gradients", "guerdon.testbeds.sampler", "guerdon.advantages.correction"),
)
