import math

import pytest
import torch

from guerdon.losses.auxiliary import bradley_terry, expected, general_preference, logistic, ramp, surprise


def numbers(*x):
    return torch.tensor(x, dtype=torch.float64)


M = torch.linspace(-3, 3, 13, dtype=torch.float64)
G = torch.linspace(0, 1, 13, dtype=torch.float64)


def test_bradley_terry():
    assert float(bradley_terry(numbers(1.0), numbers(1.0))) == 0.5
    assert float(bradley_terry(numbers(2.0), numbers(1.0))) == pytest.approx(1 / (1 + math.exp(-1)))


def test_a_general_preference_is_antisymmetric_and_may_go_round():
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(2, 20, 6, generator=generator).double()
    assert torch.allclose(general_preference(a, b) + general_preference(b, a), torch.ones(20).double())
    assert general_preference(a, a).tolist() == [0.5] * 20
    angle = numbers(0, 2 * math.pi / 3, 4 * math.pi / 3)
    stone, paper, scissors = torch.stack([angle.cos(), angle.sin()], 1)[:, None]
    for winner, loser in ((stone, paper), (paper, scissors), (scissors, stone)):
        assert float(general_preference(winner, loser)) == pytest.approx(1 / (1 + math.exp(-math.sqrt(3) / 2)))
    assert float(general_preference(numbers(0.6, 0.8)[None], numbers(0.0, 1.0)[None])) == pytest.approx(
        1 / (1 + math.exp(-0.6))
    )


def test_embeddings_of_odd_length_are_refused():
    with pytest.raises(ValueError, match="3 coordinates"):
        general_preference(torch.zeros(1, 3), torch.zeros(1, 3))


def test_the_ramp():
    assert ramp(numbers(-5, -0.5, 0, 0.25, 1, 4)).tolist() == pytest.approx([1.5, 1.5, 1.0, 0.75, 0.0, 0.0])


def test_with_the_logistic_loss_a_label_beyond_what_was_expected_is_linear():
    assert torch.allclose(surprise(logistic, M, G), -(1 - G) * M)


def test_with_the_ramp_it_is_bounded():
    far = numbers(-1e6, 1e6)
    assert surprise(ramp, far, numbers(0.3, 0.3)).tolist() == pytest.approx([1.05, -1.05])


def test_a_certain_model_leaves_nothing_to_a_label_it_expected():
    for loss in (logistic, ramp):
        assert surprise(loss, M, torch.ones(13).double()).abs().max() == 0


def test_what_is_taken_away_and_given_back_on_the_same_pair_cancels():
    for loss in (logistic, ramp):
        assert torch.allclose(surprise(loss, M, G) + expected(loss, M, G), loss(M))


def test_the_loss_of_one_example_by_hand():
    m, m_syn, g, g_syn = numbers(0.5), numbers(-0.2), numbers(0.8), numbers(0.6)
    for loss, value in ((logistic, 0.6181389), (ramp, 0.84)):
        total = surprise(loss, m, g) + expected(loss, m_syn, g_syn)
        assert float(total) == pytest.approx(value, abs=1e-7)


def test_ones_own_opinion_moves_nothing():
    m = M.clone().requires_grad_()
    expected(logistic, m, torch.sigmoid(m).detach()).sum().backward()
    assert m.grad.abs().max() < 1e-15
