"""The experiment of RLSF: what must be true of it, however the claim turns out."""

from __future__ import annotations

import math

import pytest
import torch

from guerdon.claims.rlsf import (
    CLAIM,
    GOLD,
    PROMPTS,
    RANDOM,
    RLSF,
    WAYS,
    drawn,
    policy,
    trained,
)
from guerdon.claims.run import run_claim


@pytest.mark.slow
def test_it_runs_and_arms_that_learn_use_the_same_budget():
    found = run_claim(CLAIM, 2, quick=True)
    for arm, seeds in found.items():
        for one in seeds.values():
            assert all(math.isfinite(value) for value in one.figures.values())
            assert 0 <= one.figures["accuracy"] <= 1
            if not arm.startswith("before"):
                assert one.budget["rollouts"] == PROMPTS * WAYS
                assert ("labels" in one.budget) == arm.startswith(GOLD)


def test_pairs_are_of_two_beams_the_better_the_surest_or_the_right_one():
    start = policy(0.2, 0)
    said, sure = start.beams()
    rows = torch.arange(PROMPTS)
    for kind in (RLSF, RANDOM, GOLD):
        better, worse, there = drawn(start, kind, torch.Generator().manual_seed(0))
        assert bool((better != worse)[there > 0].all())
        if kind == RLSF:
            assert bool((sure[rows, better] >= sure[rows, worse]).all())
        if kind == GOLD:
            kept = there > 0
            assert bool((said[rows, better] == start.right)[kept].all())
            assert bool((said[rows, worse] != start.right)[kept].all())


def test_the_share_of_sound_and_of_deceptive_ways():
    sound = policy(0.0, 1)
    assert float((sound.beams()[0] == sound.right[:, None]).float().mean()) > 0.35
    assert float(policy(1.0, 1).beams()[1].mean()) > float(sound.beams()[1].mean()) + 0.1


def test_training_leaves_the_start_as_it_was_and_moves_the_chosen_up():
    start = policy(0.0, 2)
    before = start.ways.clone()
    made = trained(start, RLSF, 5, 2)
    assert torch.equal(start.ways, before)
    rows, best = torch.arange(PROMPTS), start.beams()[1].argmax(1)
    assert bool((made.ways.softmax(-1)[rows, best] > start.ways.softmax(-1)[rows, best]).all())
