"""The claims of the base algorithms: they run, on equal budgets, and their bounds are what they say."""

from __future__ import annotations

import math

import pytest

from guerdon.claims.base import Claim
from guerdon.claims.record import find_claim
from guerdon.claims.run import run_claim
from guerdon.testbeds.ladder import MARGIN, climb, less, rungs

SLUGS = ("grpo", "rloo", "reinforce", "ppo", "dapo", "gspo", "cispo", "tis", "dr-grpo", "reinforce-pp")


@pytest.mark.parametrize("slug", SLUGS)
def test_it_is_found_and_expects_what_its_arms_have(slug):
    claim = find_claim(slug)
    assert isinstance(claim, Claim)
    assert claim.slug == slug
    assert "guerdon.testbeds.ladder" in claim.source
    assert claim.seeds >= 5


@pytest.mark.slow
@pytest.mark.parametrize("slug", SLUGS)
def test_it_runs_and_its_arms_use_as_many_tokens(slug):
    claim = find_claim(slug)
    found = run_claim(claim, 2, quick=True)
    for one in claim.expect:
        for arm in (one.arm, one.than):
            assert all(math.isfinite(measured.figures[one.metric]) for measured in found[arm].values())
    sampled = [m.budget["sampled_tokens"] for seeds in found.values() for m in seeds.values() if m.budget]
    assert max(sampled) <= 1.25 * min(sampled), "a tenth of the budget is a few portions"


def test_a_bound_is_what_another_came_to_less_a_margin():
    from guerdon.methods.rloo import rloo

    found = climb(rloo(), 0, quick=True)
    assert less(found).figures == {"truth": found.figures["truth"] - MARGIN}
    assert less(found).budget == {}


def test_the_ladder_has_low_rungs_and_high_ones():
    from guerdon.testbeds.exact import oracle_of

    oracle = oracle_of(rungs())
    chances = (oracle.logp(rungs().policy(0)).detach().exp() * oracle.right).sum(1)
    assert float(chances.min()) < 0.2
    assert float(chances.max()) > 0.7
