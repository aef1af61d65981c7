"""REINFORCE++: is normalising over the whole batch as good as a critic, with one reply to a prompt as with many?

On the ladder (`guerdon.testbeds.ladder`), without KL. `one reply` draws 128 prompts with one reply to each instead of
16 with 8, where GRPO has nothing to compare. The bound is PPO less 0.02 of the truth, seed by seed.
"""

from __future__ import annotations

from functools import lru_cache

from guerdon.claims.base import Claim, Expect, Measured
from guerdon.methods.ppo import ppo
from guerdon.methods.reinforce import reinforce
from guerdon.methods.reinforce_pp import reinforce_pp
from guerdon.testbeds.arm import Budget, run_arm
from guerdon.testbeds.ladder import LR, MARGIN, SOURCE, TOKENS, climb, less, rungs

PLUS, SINGLE, REINFORCE, PPO = "REINFORCE++", "one reply", "REINFORCE", "PPO"
BOUND = f"PPO, less {MARGIN}"
METHODS = {PLUS: reinforce_pp(beta=0.0), REINFORCE: reinforce(), PPO: ppo(beta=0.0)}


@lru_cache(maxsize=8)
def measure(arm: str, seed: int, quick: bool) -> Measured:
    if arm == BOUND:
        return less(measure(PPO, seed, quick))
    if arm == SINGLE:
        budget = Budget(TOKENS // 10 if quick else TOKENS, prompts=128, samples=1)
        return run_arm(METHODS[PLUS], rungs(), seed, budget, lr=LR)
    return climb(METHODS[arm], seed, quick)


CLAIM = Claim(
    slug="reinforce-pp",
    claim="Advantages normalised over the batch do without a critic what PPO does with one, with a single reply too.",
    arms=(PLUS, SINGLE, REINFORCE, PPO, BOUND),
    run=measure,
    expect=(
        Expect("truth", PLUS, BOUND),
        Expect("truth", SINGLE, BOUND),
        Expect("area", PLUS, REINFORCE, control=True),
    ),
    source=(*SOURCE, "guerdon.methods.ppo", "guerdon.advantages.whiten"),
)
