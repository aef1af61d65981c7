"""RLOO: is its gradient unbiased and less noisy than REINFORCE's, and does it learn more from as many tokens?

On the ladder (`guerdon.testbeds.ladder`). `squared_bias` and `spread` are of the gradient at the start, over 200
batches, in units of the exact gradient that enumeration gives (`guerdon.testbeds.gradients`): GRPO's division by the
deviation of each group weighs prompts otherwise than their worth, REINFORCE compares with the mean of the whole batch.
The bound is PPO less 0.02 of the truth, seed by seed.
"""

from __future__ import annotations

from functools import lru_cache

from guerdon.claims.base import Claim, Expect, Measured
from guerdon.methods.grpo import grpo
from guerdon.methods.ppo import ppo
from guerdon.methods.reinforce import reinforce
from guerdon.methods.rloo import rloo
from guerdon.testbeds.gradients import gradient_figures
from guerdon.testbeds.ladder import MARGIN, SOURCE, climb, less, rungs

RLOO, REINFORCE, GRPO, PPO = "RLOO", "REINFORCE", "GRPO", "PPO"
BOUND = f"PPO, less {MARGIN}"
METHODS = {RLOO: rloo(), REINFORCE: reinforce(), GRPO: grpo(), PPO: ppo(beta=0.0)}


@lru_cache(maxsize=8)
def measure(arm: str, seed: int, quick: bool) -> Measured:
    if arm == BOUND:
        return less(measure(PPO, seed, quick))
    found = climb(METHODS[arm], seed, quick)
    if arm == PPO:
        return found
    return Measured(
        {**found.figures, **gradient_figures(METHODS[arm], rungs(), seed, 20 if quick else 200)}, found.budget
    )


CLAIM = Claim(
    slug="rloo",
    claim="A baseline of the other replies' mean leaves the gradient unbiased and less noisy, and needs no critic.",
    arms=(RLOO, REINFORCE, GRPO, PPO, BOUND),
    run=measure,
    expect=(
        Expect("squared_bias", RLOO, GRPO, "lower"),
        Expect("spread", RLOO, REINFORCE, "lower"),
        Expect("area", RLOO, REINFORCE),
        Expect("truth", RLOO, BOUND),
        Expect("area", RLOO, GRPO, control=True),
    ),
    source=(*SOURCE, "guerdon.testbeds.gradients", "guerdon.methods.reinforce", "guerdon.methods.grpo"),
)
