"""Gradients that are written out are the ones of finite differences, and go onto `.grad` when they are gathered."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck

from guerdon.blocks.kernels import (
    embedded,
    gathering,
    normed_products,
    product,
    rms_norm,
    rotate,
    swiglu,
    swiglu_product,
)


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    made = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return made.requires_grad_(True)


X, NORM, W1, W2, W3 = numbers(5, 6), numbers(6, seed=1), numbers(4, 6, seed=2), numbers(3, 6, seed=3), numbers(2, 5)
ANGLE = torch.linspace(0, 3, 10, dtype=torch.float64).view(5, 1, 2)


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (lambda x, w: rms_norm(x, w, 1e-5), (X, NORM)),
        (lambda x, w: rms_norm(x, w, 1e-5), (numbers(3, 2, 6), NORM)),
        (lambda x: rotate(x, ANGLE.cos(), ANGLE.sin()), (numbers(5, 3, 4),)),
        (lambda x, n, a, b: normed_products(x, n, 1e-5, [a, b]), (X, NORM, W1, W2)),
        (product, (X, W1)),
        (swiglu_product, (numbers(3, 5), numbers(3, 5, seed=4), W3)),
        (lambda w: embedded(torch.tensor([0, 3, 3, 1]), w), (W1,)),
    ],
    ids=["rms_norm", "rms_norm of heads", "rotate", "normed_products", "product", "swiglu_product", "embedded"],
)
def test_gradients_are_those_of_finite_differences(function, inputs):
    assert gradcheck(function, inputs)


def test_values_by_hand():
    x = torch.tensor([[3.0, 4.0]])
    torch.testing.assert_close(rms_norm(x, torch.tensor([1.0, 2.0]), 0.0), torch.tensor([[3.0, 8.0]]) / 12.5**0.5)
    quarter = torch.tensor([[[torch.pi / 2]]])
    torch.testing.assert_close(
        rotate(torch.tensor([[[1.0, 2.0]]]), quarter.cos(), quarter.sin()), torch.tensor([[[-2.0, 1.0]]])
    )
    torch.testing.assert_close(
        swiglu(torch.tensor([0.0, 1.0]), torch.tensor([5.0, 2.0])), torch.tensor([0.0, 1.462117])
    )


def everything(x, norm, table, first, second, down):
    h = embedded(torch.tensor([1, 1, 0, 2, 3]), table) + x
    gate, up = normed_products(h, norm, 1e-5, [first, second])
    return (product(swiglu_product(gate, up, down), table) ** 2).sum()


def test_gathered_gradients_add_up_to_those_of_autograd():
    made = {"norm": (6,), "table": (4, 6), "first": (5, 6), "second": (5, 6), "down": (6, 5)}
    weights = {name: torch.nn.Parameter(torch.randn(*shape)) for name, shape in made.items()}
    x = torch.randn(5, 6)
    expected = torch.autograd.grad(everything(x, **weights), list(weights.values()))
    for _ in range(2):
        with gathering():
            everything(x, **weights).backward()
    for (name, weight), gradient in zip(weights.items(), expected, strict=True):
        torch.testing.assert_close(weight.grad, 2 * gradient, msg=name, atol=1e-4, rtol=1e-4)


def test_outside_of_gathering_nothing_is_left_behind():
    weight = torch.nn.Parameter(torch.randn(4, 6))
    torch.autograd.grad(product(torch.randn(2, 6, requires_grad=True), weight).sum(), [weight])
    assert weight.grad is None


def test_a_frozen_weight_gets_no_gradient():
    weight, x = torch.randn(4, 6), torch.randn(2, 6, requires_grad=True)
    with gathering():
        product(x, weight).sum().backward()
    assert weight.grad is None
    torch.testing.assert_close(x.grad, weight.sum(0).expand(2, 6))
