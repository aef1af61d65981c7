import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.losses.robust import exponentiated, group_losses


def numbers(*x):
    return torch.tensor(x, dtype=torch.float64)


LOSSES, GROUPS = numbers(0.2, 0.2, 0.2, 1.0), torch.tensor([0, 0, 0, 1])
SHARES = numbers(0.9, 0.9, 0.9, 0.1)


def test_group_losses_weights_and_the_loss_by_hand():
    losses = group_losses(LOSSES, GROUPS, SHARES, 2)
    assert losses.tolist() == pytest.approx([1 / 6, 2.5])
    alpha = exponentiated(numbers(0.5, 0.5), losses, 0.1)
    assert alpha.tolist() == pytest.approx([0.4419299, 0.5580701], abs=1e-7)
    assert float((alpha * losses).sum()) == pytest.approx(1.4688302, abs=1e-7)


def test_weights_by_size_give_the_mean_of_the_batch():
    losses = group_losses(LOSSES, GROUPS, SHARES, 2)
    assert float((numbers(0.9, 0.1) * losses).sum()) == pytest.approx(float(LOSSES.mean()))


def test_a_group_that_the_batch_lacks_has_no_loss():
    assert group_losses(LOSSES, GROUPS, SHARES, 3).tolist()[2] == 0.0


def test_group_losses_are_unbiased():
    """Over all batches of two drawn from ten examples."""
    loss = torch.linspace(0, 3, 10, dtype=torch.float64)
    group = torch.tensor([0] * 7 + [1] * 3)
    share = numbers(0.7, 0.3)[group]
    every = [group_losses(loss[[i, j]], group[[i, j]], share[[i, j]], 2) for i in range(10) for j in range(10)]
    expected = [float(loss[group == g].mean()) for g in (0, 1)]
    assert torch.stack(every).mean(0).tolist() == pytest.approx(expected)


POSITIVE = st.lists(st.floats(0.01, 1), min_size=2, max_size=5)


@given(POSITIVE, st.floats(0, 5), st.integers(0, 10**6))
@settings(deadline=None, max_examples=40)
def test_weights_stay_on_the_simplex_and_go_by_losses_alone(raw, eta, seed):
    alpha = numbers(*raw) / sum(raw)
    losses = torch.rand(len(raw), generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 100
    moved = exponentiated(alpha, losses, eta)
    assert float(moved.sum()) == pytest.approx(1.0)
    assert (moved >= 0).all()
    assert torch.allclose(exponentiated(alpha, losses + 7.0, eta), moved)
    assert torch.allclose(exponentiated(alpha, torch.full_like(losses, 3.0), eta), alpha)
    order = torch.arange(len(raw)).flip(0)
    assert torch.allclose(exponentiated(alpha[order], losses[order], eta), moved[order])
    twice = exponentiated(exponentiated(alpha, losses / 50, eta), losses / 50, eta)
    assert torch.allclose(twice, exponentiated(alpha, losses / 50, 2 * eta))


def test_huge_losses_do_not_overflow():
    assert exponentiated(numbers(0.5, 0.5), numbers(1e6, 0.0), 1.0).tolist() == [1.0, 0.0]
