"""The operations of a decoder layer with their gradients written out: few passes over memory, and little kept.

Autograd would keep every input of every operation and walk through several more tensors of that size than these need;
here what is cheap to compute again (norms, gates) is computed again. float32 in, float32 out. Inside `gathering` the
gradients of weights are added to `.grad` by the matrix product that forms them, without a copy in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear, silu

_gathers = False


@contextmanager
def gathering() -> Iterator[None]:
    """Backward passes in here add to the `.grad` of weights themselves; only for `backward()` onto leaves."""
    global _gathers
    before, _gathers = _gathers, True
    try:
        yield
    finally:
        _gathers = before


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * weight, over the last dimension of x [..., H]."""
    return _RmsNorm.apply(x, weight, eps)  # type: ignore[no-any-return, no-untyped-call]


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions: the halves of x [..., D] as a plane turned by the angle, cos and sin [..., D / 2]."""
    return _Rotate.apply(x, cos, sin)  # type: ignore[no-any-return, no-untyped-call]


def normed_products(x: Tensor, norm: Tensor, eps: float, weights: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """`rms_norm` of x [N, H] times each of several weights [O, H]."""
    return _NormedProducts.apply(x, norm, eps, *weights)  # type: ignore[no-any-return, no-untyped-call]


def product(x: Tensor, weight: Tensor) -> Tensor:
    """x [N, I] times a weight [O, I]."""
    return _Product.apply(x, weight)  # type: ignore[no-any-return, no-untyped-call]


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """silu(gate) * up."""
    return silu(gate) * up


def swiglu_product(gate: Tensor, up: Tensor, weight: Tensor) -> Tensor:
    """`swiglu` [N, I] times a weight [O, I]."""
    return _SwigluProduct.apply(gate, up, weight)  # type: ignore[no-any-return, no-untyped-call]


def embedded(tokens: Tensor, weight: Tensor) -> Tensor:
    """Rows of a weight [V, H] at tokens [N]."""
    return _Embedded.apply(tokens, weight)  # type: ignore[no-any-return, no-untyped-call]


def normed(x: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """`rms_norm` without a gradient, and what each x was multiplied by, [..., 1]."""
    scale = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    scale = scale.square_().div_(x.shape[-1]).add_(eps).rsqrt_()
    return (x * scale).mul_(weight), scale


def turned(x: Tensor, cos: Tensor, sin: Tensor, sign: int = 1) -> Tensor:
    """`rotate` without a gradient, by minus the angle where `sign` is -1."""
    half = x.shape[-1] // 2
    out = torch.empty(x.shape, dtype=x.dtype)
    a, b = x[..., :half], x[..., half:]
    torch.mul(a, cos, out=out[..., :half]).addcmul_(b, sin, value=-sign)
    torch.mul(b, cos, out=out[..., half:]).addcmul_(a, sin, value=sign)
    return out


def onto(weight: Tensor, grad: Tensor, x: Tensor) -> Tensor | None:
    """The gradient grad^T x of a weight [O, I] from grad [N, O] and x [N, I]; None where it went to `.grad` at once."""
    if not weight.requires_grad:
        return None
    if not (_gathers and weight.is_leaf):
        return grad.T @ x
    if weight.grad is None:
        weight.grad = grad.T @ x
    else:
        weight.grad.addmm_(grad.T, x)
    return None


class _RmsNorm(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        out, scale = normed(x, weight, eps)
        ctx.save_for_backward(x, weight, scale)
        return out

    @staticmethod
    @once_differentiable  # type: ignore[misc]
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None, None]:
        x, weight, scale = ctx.saved_tensors
        dx, dweight = _unnormed(grad * weight, grad, x * scale, scale, weight)
        return dx, dweight if ctx.needs_input_grad[1] else None, None


def _unnormed(scaled: Tensor, grad: Tensor, unit: Tensor, scale: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of a norm in its input and weight; scaled = grad * weight, which is overwritten."""
    along = grad * unit
    inward = (along @ weight).div_(unit.shape[-1])[..., None]
    return scaled.addcmul_(unit, inward, value=-1).mul_(scale), along.flatten(0, -2).sum(0)


class _Rotate(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return turned(x, cos, sin)

    @staticmethod
    @once_differentiable  # type: ignore[misc]
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        cos, sin = ctx.saved_tensors
        return turned(grad, cos, sin, -1), None, None


class _NormedProducts(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, norm: Tensor, eps: float, *weights: Tensor) -> tuple[Tensor, ...]:
        h, scale = normed(x, norm, eps)
        ctx.save_for_backward(x, norm, scale)
        ctx.weights = weights
        return tuple(linear(h, weight) for weight in weights)

    @staticmethod
    @once_differentiable  # type: ignore[misc]
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, norm, scale = ctx.saved_tensors
        unit = x * scale
        h = unit * norm
        dweights = [onto(weight, grad, h) for weight, grad in zip(ctx.weights, grads, strict=True)]
        dh = grads[0] @ ctx.weights[0]
        for weight, grad in zip(ctx.weights[1:], grads[1:], strict=True):
            dh.addmm_(grad, weight)
        dx, dnorm = _unnormed(torch.mul(dh, norm, out=h), dh, unit, scale, norm)
        return dx, dnorm if ctx.needs_input_grad[1] else None, None, *dweights


class _Product(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        ctx.weight = weight
        return linear(x, weight)

    @staticmethod
    @once_differentiable  # type: ignore[misc]
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None]:
        (x,) = ctx.saved_tensors
        return grad @ ctx.weight, onto(ctx.weight, grad, x)


class _SwigluProduct(Function):
    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(gate, up)
        ctx.weight = weight
        return linear(silu(gate).mul_(up), weight)

    @staticmethod
    @once_differentiable  # type: ignore[misc]
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        gate, up = ctx.saved_tensors
        open_ = silu(gate)
        dweight = onto(ctx.weight, grad, open_ * up)
        dwide = grad @ ctx.weight
        dup = open_.mul_(dwide)
        return torch.ops.aten.silu_backward(dwide.mul_(up), gate), dup, dweight


class _Embedded(Function):
    @staticmethod
    def forward(ctx: Any, tokens: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(tokens)
        ctx.weight = weight
        return weight.index_select(0, tokens)

    @staticmethod
    @once_differentiable  # type: ignore[misc]
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor | None]:
        (tokens,) = ctx.saved_tensors
        weight = ctx.weight
        if not weight.requires_grad:
            return None, None
        if not (_gathers and weight.is_leaf):
            return None, torch.zeros_like(weight).index_add_(0, tokens, grad)
        if weight.grad is None:
            weight.grad = torch.zeros_like(weight)
        weight.grad.index_add_(0, tokens, grad)
        return None, None
