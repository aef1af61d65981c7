"""Dr. GRPO: is its gradient unbiased, and do wrong replies stay as short as they were?

`squared_bias` is of the gradient at the start of the ladder (`guerdon.testbeds.ladder`), over 200 batches, in units of
the exact one. Lengths are learned on `guerdon.testbeds.lengths`: replies are right by their first letter and may go on
for nothing, up to six symbols, so that what grows is the loss's doing. `long_when_wrong` is the mean length of wrong
replies at the end less that of right ones.
"""

from __future__ import annotations

from guerdon.claims.base import Claim, Expect, Measured
from guerdon.methods.dr_grpo import dr_grpo
from guerdon.methods.grpo import grpo
from guerdon.testbeds.arm import Budget, run_arm
from guerdon.testbeds.gradients import gradient_figures
from guerdon.testbeds.ladder import SOURCE, rungs
from guerdon.testbeds.lengths import lengths

DR, GRPO = "Dr. GRPO", "GRPO"
METHODS = {DR: dr_grpo(max_new_tokens=6), GRPO: grpo()}
BUDGET = Budget(40_000, prompts=8, samples=16)


def measure(arm: str, seed: int, quick: bool) -> Measured:
    budget = Budget(4_000, prompts=8, samples=16) if quick else BUDGET
    found = run_arm(METHODS[arm], lengths(), seed, budget, lr=0.02)
    f = found.figures
    apart = f["wrong_length"] / (1 - f["right"]) - f["right_length"] / f["right"]
    gradient = gradient_figures(METHODS[arm], rungs(), seed, 20 if quick else 200)
    return Measured({**f, **gradient, "long_when_wrong": apart}, found.budget)


CLAIM = Claim(
    slug="dr-grpo",
    claim="Without the divisions by deviation and length the gradient is unbiased, and wrong replies do not grow.",
    arms=(DR, GRPO),
    run=measure,
    expect=(
        Expect("squared_bias", DR, GRPO, "lower"),
        Expect("long_when_wrong", DR, GRPO, "lower"),
        Expect("truth", DR, GRPO, control=True),
    ),
    source=(*SOURCE, "guerdon.testbeds.gradients", "guerdon.testbeds.lengths", "guerdon.methods.grpo"),
)
