"""What a second opinion about pairs is worth: preference models, and losses whose label noise one of them explains.

g(a, b) is the probability that reply a beats reply b, with g(a, b) + g(b, a) = 1. m is the margin of a pair: what the
trained model gives the better reply more than the worse. All functions take one number per pair, [P] in and [P] out.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, relu

PairLoss = Callable[[Tensor], Tensor]
"""m [P] -> loss [P]."""


def bradley_terry(a: Tensor, b: Tensor) -> Tensor:
    """sigmoid(a - b): g of two rewards (Bradley & Terry 1952). [P]"""
    return torch.sigmoid(a - b)


def general_preference(a: Tensor, b: Tensor) -> Tensor:
    """sigmoid(a^T R b), R turning each pair of coordinates by a quarter: g of two embeddings of even length.

    a, b: [P, 2k], of unit length by convention -> [P]. With k = 1 the score is a1 b2 - a2 b1. It is antisymmetric, and
    preferences may go round in a circle (General preference model, Zhang et al. 2024, section 4).
    """
    if a.shape[-1] % 2:
        raise ValueError(f"embeddings have {a.shape[-1]} coordinates; expected an even number")
    x, y = a.unflatten(-1, (-1, 2)), b.unflatten(-1, (-1, 2))
    return torch.sigmoid((x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]).sum(-1))


def logistic(m: Tensor) -> Tensor:
    """-log sigmoid(m). [P]"""
    return -logsigmoid(m)


def ramp(m: Tensor) -> Tensor:
    """relu(1 - m) - relu(-1/2 - m): 0 from m = 1 on, slope -1 below, 1.5 from m = -1/2 down. Bounded. [P]"""
    return relu(1 - m) - relu(-0.5 - m)


def expected(loss: PairLoss, m: Tensor, g: Tensor) -> Tensor:
    """g l(m) + (1 - g) l(-m): the loss expected of a pair whose label nobody has seen, if g is its probability. [P]"""
    return g * loss(m) + (1 - g) * loss(-m)


def surprise(loss: PairLoss, m: Tensor, g: Tensor) -> Tensor:
    """l(m) - (g l(m) + (1 - g) l(-m)): what a label says beyond what g expected of it; g: of the better reply. [P]

    For `logistic` it is -(1 - g) m, linear and so unbounded below; for `ramp` it is bounded.
    """
    return loss(m) - expected(loss, m, g)
