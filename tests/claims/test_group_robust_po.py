"""The experiment at a fraction of its size: arms share data, and differ in nothing but their weights."""

import pytest

from guerdon.claims.group_robust_po import CLAIM, DPO, FIXED, ROBUST
from guerdon.claims.run import run_claim


@pytest.fixture(scope="module")
def results():
    return run_claim(CLAIM, 2, quick=True)


def test_every_arm_has_every_figure_at_the_same_budget(results):
    figures = {"worst_loss", "worst_accuracy", "loss_gap", "average_loss"}
    for seeds in results.values():
        for one in seeds.values():
            assert one.figures.keys() == figures | {f"noisy_{name}" for name in figures}
            assert one.budget == {"labels": 1000, "gradient_steps": 100}


def test_weighing_groups_helps_the_worst_one_even_in_a_few_steps(results):
    for seed in (0, 1):
        losses = [results[arm][seed].figures["worst_loss"] for arm in (DPO, FIXED, ROBUST)]
        assert min(losses[1:]) < losses[0]
        assert losses[1] != losses[2]


def test_a_seed_gives_the_same_figures_again(results):
    assert CLAIM.run(ROBUST, 1, True) == results[ROBUST][1]
