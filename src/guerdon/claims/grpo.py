"""GRPO: does comparing replies to one prompt with each other make up for a value model?

On the ladder (`guerdon.testbeds.ladder`): PPO has a table of values beside the policy and makes 4 passes over each
batch, as its defaults are, without KL; GRPO and REINFORCE make one. The bound is PPO less 0.02 of the truth, seed by
seed: who stays above it is as good.
"""

from __future__ import annotations

from functools import lru_cache

from guerdon.claims.base import Claim, Expect, Measured
from guerdon.methods.grpo import grpo
from guerdon.methods.ppo import ppo
from guerdon.methods.reinforce import reinforce
from guerdon.testbeds.ladder import MARGIN, SOURCE, climb, less

GRPO, PPO, REINFORCE = "GRPO", "PPO", "REINFORCE"
BOUND = f"PPO, less {MARGIN}"
METHODS = {GRPO: grpo(), PPO: ppo(beta=0.0), REINFORCE: reinforce()}


@lru_cache(maxsize=8)
def measure(arm: str, seed: int, quick: bool) -> Measured:
    return less(measure(PPO, seed, quick)) if arm == BOUND else climb(METHODS[arm], seed, quick)


CLAIM = Claim(
    slug="grpo",
    claim="Rewards standardised within the group of a prompt do without a value model what PPO does with one.",
    arms=(GRPO, PPO, REINFORCE, BOUND),
    run=measure,
    expect=(
        Expect("truth", GRPO, BOUND),
        Expect("area", GRPO, REINFORCE),
        Expect("truth", GRPO, PPO, control=True),
        Expect("area", GRPO, PPO, control=True),
    ),
    source=(*SOURCE, "guerdon.methods.ppo", "guerdon.methods.reinforce"),
)
