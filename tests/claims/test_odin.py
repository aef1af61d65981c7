"""The experiment of ODIN: what must be true of it, however the claim turns out."""

from __future__ import annotations

import math

import pytest
import torch

from guerdon.claims.odin import CHOICES, CLAIM, ODIN, PLAIN, tilted
from guerdon.claims.run import run_claim


@pytest.mark.slow
def test_it_runs_and_every_arm_uses_the_same_budget():
    found = run_claim(CLAIM, 2, quick=True)
    budgets = {tuple(one.budget.items()) for seeds in found.values() for one in seeds.values()}
    assert len(budgets) == 1
    for seeds in found.values():
        for one in seeds.values():
            assert all(math.isfinite(value) for value in one.figures.values())
            assert 0 <= one.figures["correlation"] <= 1
            assert 0 <= one.figures["accuracy"] <= 1
    assert max(found[ODIN][s].figures["correlation"] for s in (0, 1)) < found[PLAIN][0].figures["correlation"]


def test_policies_are_equally_far_from_uniform_whatever_the_scale_of_the_reward():
    reward = torch.randn(5, CHOICES, generator=torch.Generator().manual_seed(0))
    small, large = tilted(0.01 * reward, 1.0), tilted(100 * reward, 1.0)
    torch.testing.assert_close(small, large, atol=1e-4, rtol=1e-3)
    divergence = (small * (small * CHOICES).log()).sum(1).mean()
    assert float(divergence) == pytest.approx(1.0, abs=1e-3)
