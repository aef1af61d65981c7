"""Running a claim: every arm on every seed, seed by seed with the arms in turn, so that a stop leaves whole pairs."""

from __future__ import annotations

from collections.abc import Callable

from guerdon.claims.base import Claim, Measured, Results

Progress = Callable[[str, int, int], None]
"""(what is run now, how many are done, how many there are)."""


def run_claim(
    claim: Claim, seeds: int, quick: bool = False, progress: Progress = lambda what, done, of: None
) -> Results:
    """Figures of every arm on seeds 0 to seeds - 1. quick: the experiment at a fraction of its size, for trying it."""
    if seeds < 2:
        raise ValueError(f"seeds is {seeds}; expected at least 2, or no difference has an interval")
    found: dict[str, dict[int, Measured]] = {arm: {} for arm in claim.arms}
    total = seeds * len(claim.arms)
    for seed in range(seeds):
        for place, arm in enumerate(claim.arms):
            progress(f"seed {seed}, {arm}", seed * len(claim.arms) + place, total)
            found[arm][seed] = claim.run(arm, seed, quick)
    progress("done", total, total)
    return found
