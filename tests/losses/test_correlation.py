"""Pearson's correlation: worked numbers, where it is undefined, and its gradient."""

from __future__ import annotations

import pytest
import torch

from guerdon.losses.correlation import pearson

LENGTH = torch.tensor([10.0, 20.0, 30.0, 40.0])


@pytest.mark.parametrize(
    ("column", "expected"), [((1, -1, 1, -1), -0.4472136), ((1, 2, 3, 4), 1.0), ((2, 1, 4, 3), 0.6)]
)
def test_worked_numbers(column: tuple[float, ...], expected: float) -> None:
    assert float(pearson(torch.tensor(column, dtype=torch.float32), LENGTH)) == pytest.approx(expected, abs=1e-6)


def test_it_is_numpys() -> None:
    import numpy as np

    x, y = torch.randn(40, generator=torch.Generator().manual_seed(0)), torch.arange(40).float().sin()
    assert float(pearson(x, y)) == pytest.approx(np.corrcoef(x.numpy(), y.numpy())[0, 1], abs=1e-6)


def test_scale_and_shift_do_not_enter_and_a_negative_scale_turns_the_sign() -> None:
    x = torch.tensor([0.3, -0.1, 0.9, 0.2])
    assert float(pearson(3 * x + 7, LENGTH)) == pytest.approx(float(pearson(x, LENGTH)), abs=1e-6)
    assert float(pearson(-2 * x, LENGTH)) == pytest.approx(-float(pearson(x, LENGTH)), abs=1e-6)


@pytest.mark.parametrize(
    ("x", "y"),
    [([1.0, 2.0], [3.0, 3.0]), ([0.1, 0.1, 0.1], [1.0, 2.0, 3.0]), ([5.0], [2.0]), ([], []), ([0.0, 0.0], [0.0, 1.0])],
)
def test_where_it_is_undefined_it_is_nought_and_teaches_nothing(x: list[float], y: list[float]) -> None:
    column = torch.tensor(x, requires_grad=True)
    found = pearson(column, torch.tensor(y))
    found.backward()
    assert found.item() == 0.0
    assert column.grad is not None
    assert torch.equal(column.grad, torch.zeros(len(x)))


def test_its_gradient_sums_to_nought_and_has_no_part_along_the_column() -> None:
    x = torch.tensor([0.3, -0.1, 0.9, 0.2, -0.7], requires_grad=True)
    pearson(x, torch.tensor([4.0, 1.0, 2.0, 9.0, 3.0])).abs().backward()
    assert x.grad is not None
    assert float(x.grad.sum()) == pytest.approx(0, abs=1e-6)
    assert float((x.grad * x.detach()).sum()) == pytest.approx(0, abs=1e-6)


def test_its_gradient_is_right() -> None:
    x, y = torch.randn(2, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    assert torch.autograd.gradcheck(pearson, (x, y))


def test_columns_of_two_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        pearson(torch.zeros(3), torch.zeros(4))
