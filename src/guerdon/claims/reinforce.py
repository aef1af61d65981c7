"""REINFORCE: does following returns alone climb to the top, and does a baseline take away noise without bias?

On the ladder (`guerdon.testbeds.ladder`). `no baseline` has the returns as they are. `squared_bias` and `spread` are of
the gradient at the start, over 200 batches, in units of the exact gradient (`guerdon.testbeds.gradients`). `before` is
the policy that both begin with.
"""

from __future__ import annotations

from dataclasses import replace

from guerdon.advantages.gae import ReturnToGo
from guerdon.claims.base import Claim, Expect, Measured
from guerdon.methods.reinforce import reinforce
from guerdon.testbeds.exact import oracle_of
from guerdon.testbeds.figures import exact
from guerdon.testbeds.gradients import gradient_figures
from guerdon.testbeds.ladder import SOURCE, climb, rungs

REINFORCE, PLAIN, BEFORE = "REINFORCE", "no baseline", "before"
METHODS = {REINFORCE: reinforce(), PLAIN: replace(reinforce(), estimator=ReturnToGo())}


def measure(arm: str, seed: int, quick: bool) -> Measured:
    if arm == BEFORE:
        return Measured(exact(oracle_of(rungs()), rungs().policy(seed)), {})
    found = climb(METHODS[arm], seed, quick)
    return Measured(
        {**found.figures, **gradient_figures(METHODS[arm], rungs(), seed, 20 if quick else 200)}, found.budget
    )


CLAIM = Claim(
    slug="reinforce",
    claim="Returns times the gradient of the log-probability climb the mean return; a baseline makes that less noisy.",
    arms=(REINFORCE, PLAIN, BEFORE),
    run=measure,
    expect=(
        Expect("truth", REINFORCE, BEFORE, least=0.5),
        Expect("spread", REINFORCE, PLAIN, "lower"),
        Expect("area", REINFORCE, PLAIN),
    ),
    source=(*SOURCE, "guerdon.testbeds.gradients", "guerdon.advantages.gae", "guerdon.advantages.baseline"),
)
