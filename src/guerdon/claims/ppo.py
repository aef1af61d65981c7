"""PPO: do several passes over a batch, kept in bounds by a clip, make more of as many samples?

On the ladder (`guerdon.testbeds.ladder`), with half its tokens, so that they are dear. Every arm has the same table of
values and no KL; `one pass` makes one pass over each batch and the others 4, of which `no clip` lets ratios go where
they like.
"""

from __future__ import annotations

from guerdon.claims.base import Claim, Expect, Measured
from guerdon.methods.ppo import ppo
from guerdon.testbeds.ladder import SOURCE, TOKENS, climb

PPO, ONCE, FREE = "PPO", "one pass", "no clip"
METHODS = {
    PPO: ppo(beta=0.0, epochs=4),
    ONCE: ppo(beta=0.0, epochs=1),
    FREE: ppo(beta=0.0, epochs=4, clip_low=1.0, clip_high=1e9),
}


def measure(arm: str, seed: int, quick: bool) -> Measured:
    return climb(METHODS[arm], seed, quick, tokens=TOKENS // 2)


CLAIM = Claim(
    slug="ppo",
    claim="Clipped ratios allow several passes over each batch, which makes more of the same samples.",
    arms=(PPO, ONCE, FREE),
    run=measure,
    expect=(
        Expect("area", PPO, ONCE),
        Expect("truth", PPO, FREE),
        Expect("entropy", PPO, FREE, control=True),
    ),
    source=(*SOURCE, "guerdon.losses.value", "guerdon.advantages.gae"),
)
