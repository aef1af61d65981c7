"""The experiment at a fraction of its size: the fit finds minima, and one's own opinion is worth nothing."""

import numpy as np
import pytest
import torch

from guerdon.claims.run import run_claim
from guerdon.claims.vrpo import CLAIM, OWN, PLAIN, TRUE, fit, population, problem, slope

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results():
    return run_claim(CLAIM, 2, quick=True)


def test_the_fit_ends_where_the_slope_is_nothing():
    loss = population(problem(np.random.default_rng(0)))
    assert slope(loss, fit(loss, 3)).abs().max() < 1e-10


def test_the_truth_is_antisymmetric_and_beyond_a_linear_model():
    one = problem(np.random.default_rng(0))
    assert torch.allclose(one.wins + one.wins.T, torch.ones(12, 12).double())
    best = torch.sigmoid(fit(population(one), 1) @ one.differences.T)[0]
    assert (best - one.wins.reshape(-1)).abs().max() > 0.1


def test_ones_own_opinion_changes_no_estimate(results):
    for seed in (0, 1):
        own, plain = (results[arm][seed].figures for arm in (OWN, PLAIN))
        assert own["distance"] == pytest.approx(plain["distance"], rel=1e-3)
        assert own["bias"] == pytest.approx(plain["bias"], abs=1e-9)


def test_labels_are_the_same_and_opinions_are_counted(results):
    assert {one.budget["labels"] for seeds in results.values() for one in seeds.values()} == {50}
    assert results[PLAIN][0].budget["judge_calls"] == 0
    assert results[TRUE][0].budget["judge_calls"] == 4050
