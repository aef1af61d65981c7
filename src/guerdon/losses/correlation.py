"""Correlation of two columns, as something to train on."""

from __future__ import annotations

from torch import Tensor

SPREAD = 1e-6
"""A column whose standard deviation is at most this share of its largest magnitude is constant."""


def pearson(x: Tensor, y: Tensor) -> Tensor:
    """Pearson's correlation of two columns, in [-1, 1], differentiable in both. [N], [N] -> []

    0, and no gradient, where it is undefined: fewer than two rows, or a column that is constant. Two rows give +-1
    whatever they hold, without a gradient either: take it over some tens of rows. Unchanged by x -> a x + b, a > 0; the
    sign turns with a < 0. (1, -1, 1, -1) with (10, 20, 30, 40): -0.447214. ValueError when the shapes differ.
    """
    if x.shape != y.shape or x.dim() != 1:
        raise ValueError(f"a correlation needs two columns of one length; got {tuple(x.shape)} and {tuple(y.shape)}")
    y = y.to(x.dtype) if x.is_floating_point() else y
    if len(x) < 2 or _constant(x) or _constant(y):
        return (x * y).sum() * 0.0
    return (_unit(x) * _unit(y)).sum()


def _constant(column: Tensor) -> bool:
    values = column.detach()
    deviation = (values - values.mean()).square().mean().sqrt()
    return bool(deviation <= SPREAD * values.abs().max())


def _unit(column: Tensor) -> Tensor:
    """Mean 0, norm 1."""
    centred = column - column.mean()
    return centred / centred.square().sum().sqrt()
