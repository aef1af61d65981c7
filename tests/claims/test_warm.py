"""The experiment of WARM: what must be true of it, however the claim turns out."""

from __future__ import annotations

import math

import pytest
import torch

from guerdon.claims.run import run_claim
from guerdon.claims.warm import CLAIM, FLIPPED, MEAN, ONE, WARM, problem, rewards, trained


@pytest.mark.slow
def test_it_runs_and_every_arm_uses_the_same_budget():
    found = run_claim(CLAIM, 2, quick=True)
    assert len({tuple(one.budget.items()) for seeds in found.values() for one in seeds.values()}) == 1
    for seeds in found.values():
        for one in seeds.values():
            assert all(math.isfinite(value) for value in one.figures.values())
            assert 0.5 < one.figures["clean"] <= 1
            assert one.figures["best_of_64"] > 0


@pytest.mark.slow
def test_arms_are_made_of_the_same_six_models():
    found = trained(0, True)
    x = torch.randn(5, 20)
    each = [one(x) for one in rewards(ONE, found)]
    assert len(each) == 6
    torch.testing.assert_close(rewards(MEAN, found)[0](x), torch.stack(each).mean(0))
    merged = rewards(WARM, found)[0](x)
    assert merged.shape == (5,)
    assert not torch.equal(merged, each[0])
    assert len({float(one[-1].weight[0, 0].detach()) for one in found.members}) == 6


def test_labels_are_those_of_the_truth_but_for_the_flipped_ones():
    one = problem(3)
    agree = one.gold(one.better) > one.gold(one.worse)
    assert torch.equal(agree, ~one.wrong)
    assert float(one.wrong.float().mean()) == pytest.approx(FLIPPED, abs=0.04)
