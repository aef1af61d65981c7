"""The experiment at a fraction of its size: what each arm can be blind to, it is blind to."""

import pytest

from guerdon.claims.drpo import BOUND, CELLS, CLAIM, DIRECT, DPO, IMPORTANCE, ROBUST, world
from guerdon.claims.run import run_claim

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def results():
    return run_claim(CLAIM, 2, quick=True)


def test_the_reference_against_itself_is_even():
    one = world(0, "none")
    assert one.chance(one.reference) == pytest.approx(0.5)


def test_the_direct_estimate_is_exact_with_the_right_model_but_for_the_draw_of_replies(results):
    for seed in (0, 1):
        figures = results[DIRECT][seed].figures
        assert figures["bias_none"] < 0.01
        assert figures["bias_reference"] == figures["bias_none"]


def test_importance_sampling_does_not_look_at_the_model_nor_dpo(results):
    for seed in (0, 1):
        for arm in (IMPORTANCE, DPO):
            figures = results[arm][seed].figures
            assert figures["win_model"] == figures["win_none"]


def test_the_doubly_robust_estimate_is_close_if_either_is_right(results):
    for seed in (0, 1):
        figures = results[ROBUST][seed].figures
        assert max(figures[f"bias_{cell}"] for cell in ("none", "reference", "model")) < 0.02


def test_the_bound_is_the_better_of_two_less_its_margin(results):
    for cell in CELLS:
        best = max(results[arm][0].figures[f"win_{cell}"] for arm in (DPO, DIRECT))
        assert results[BOUND][0].figures[f"win_{cell}"] == pytest.approx(best - 0.02)
