import math

import pytest
import torch

from guerdon.losses import preference
from guerdon.losses.preference import DPO, token_average, token_sum
from guerdon.method import Term
from guerdon.reduce import group_mean
from tests.batches import make_batch, total


def slope(function, at):
    x = torch.tensor(at, requires_grad=True, dtype=torch.float64)
    function(x).backward()
    return x.grad.item()


def scalar(x):
    return torch.tensor(x, dtype=torch.float64)


def test_dpo_at_the_reference():
    assert preference.dpo(scalar(0.0), 0.1).item() == pytest.approx(math.log(2))
    assert slope(lambda h: preference.dpo(h, 0.1), 0.0) == pytest.approx(-0.05)


def test_label_smoothing_turns_back_where_the_odds_equal_the_noise():
    """With e flipped labels the best sigmoid(beta h) is 1 - e."""
    best = math.log(0.9 / 0.1) / 0.1
    assert slope(lambda h: preference.dpo(h, 0.1, smoothing=0.1), best) == pytest.approx(0.0, abs=1e-12)
    assert slope(lambda h: preference.dpo(h, 0.1, smoothing=0.1), best + 1) > 0
    assert preference.dpo(scalar(0.0), 0.1, 0.1).item() == pytest.approx(math.log(2))


def test_ipo_at_the_reference_and_at_its_optimum():
    assert preference.ipo(scalar(0.0), 0.1).item() == pytest.approx(25.0)
    assert preference.ipo(scalar(5.0), 0.1).item() == pytest.approx(0.0)


def test_simpo():
    loss = preference.simpo(scalar(-0.5), scalar(-1.0), beta=2.0, margin=1.0)
    assert loss.item() == pytest.approx(math.log(2))


def test_orpo():
    odds = preference.log_odds_ratio(scalar(-1.0), scalar(-1.5))
    assert odds.item() == pytest.approx(0.706193, abs=1e-6)
    loss = preference.orpo(scalar(-1.0), scalar(-1.5), nll=scalar(0.0), beta=1.0)
    assert loss.item() == pytest.approx(0.401135, abs=1e-6)


def test_kto():
    at_reference = preference.kto(scalar([0.0, 0.0]), torch.tensor([True, False]), scalar(0.0), beta=0.1)
    assert at_reference.tolist() == [0.5, 0.5]
    loss = preference.kto(scalar([1.5, -0.5]), torch.tensor([True, False]), scalar(0.5), beta=0.1)
    assert loss.tolist() == pytest.approx([0.475021, 0.475021], abs=1e-6)
    weighted = preference.kto(scalar([0.0, 0.0]), torch.tensor([True, False]), scalar(0.0), 0.1, good=2.0, bad=3.0)
    assert weighted.tolist() == [1.0, 1.5]


def test_the_anchor_of_kto_is_not_negative_and_has_no_gradient():
    ratios = torch.tensor([-1.0, 3.0], requires_grad=True)
    anchor = preference.kto_anchor(ratios)
    assert anchor.item() == 1.0
    assert not anchor.requires_grad
    assert preference.kto_anchor(torch.tensor([-1.0, -3.0])).item() == 0.0


def pairs():
    """Two pairs, the second given rejected first; token log-ratios 0.5 on the chosen, -0.25 on the rejected."""
    batch = make_batch(
        rewards=[[0, 1.0], [0, 0, -1.0], [0.0], [0, 0, 0, 2.0]],
        groups=[7, 7, 3, 3],
        ref=[[-1.0] * 2, [-1.0] * 3, [-1.0], [-1.0] * 4],
        masks=[[1, 1], [0, 1, 1], [1], [1, 1, 0, 1]],
    )
    chosen = torch.tensor([1, 1, 0, 0, 0, 0, 1, 1, 1, 1]).bool()
    logp = torch.where(chosen, -0.5, -1.25).requires_grad_()
    return {"logp": logp}, batch


@pytest.mark.parametrize(
    ("level", "differences"), [(token_sum, (1.0 + 0.5, 1.5 + 0.25)), (token_average, (0.75, 0.75))], ids=["sum", "mean"]
)
def test_each_pair_counts_once_and_the_higher_return_is_the_chosen(level, differences):
    out, batch = pairs()
    loss = total(Term(DPO(0.1, level=level), group_mean), out, batch)
    loss.backward()
    expected = sum(math.log1p(math.exp(-0.1 * h)) for h in differences) / 2
    assert loss.item() == pytest.approx(expected, abs=1e-6)
    gradient = out["logp"].grad
    assert (gradient[:2] < 0).all()
    assert (gradient[3:6] > 0).all()
    assert gradient[2] == 0
    assert gradient[8] == 0


def test_the_gradient_is_that_of_the_pairwise_loss():
    out, batch = pairs()
    total(Term(DPO(0.1), group_mean), out, batch).backward()
    pull = 0.1 / (1 + math.exp(0.1 * 1.5)) / 2
    assert out["logp"].grad[:5].tolist() == pytest.approx([-pull, -pull, 0.0, pull, pull], abs=1e-7)


def test_a_tied_pair_teaches_nothing():
    out, batch = pairs()
    tied = batch.put(reward=torch.zeros(10))
    loss = total(Term(DPO(0.1), group_mean), out, tied)
    loss.backward()
    assert loss.item() == 0.0
    assert out["logp"].grad.abs().sum() == 0


def test_groups_that_are_not_pairs_are_refused():
    batch = make_batch([1.0, 0.0, 0.5], ref=[[0.0] * 2] * 3)
    with pytest.raises(ValueError, match=r"groups of two sequences.*has 3"):
        DPO()({"logp": torch.zeros(6)}, batch)
