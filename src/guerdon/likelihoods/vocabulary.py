"""Statistics of the distribution over the vocabulary whose gradient is written out: three matrix products, no graph.

Logits of a chunk of positions become log-probabilities in place. They are kept for the backward pass while they are few
and computed again where they are many, so that memory does not grow with vocabulary x length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from guerdon.blocks.kernels import onto

KEPT_ELEMENTS = 1 << 25
"""Log-probabilities kept for the backward pass, positions x vocabulary (128 MB in float32); beyond, none are."""

BY_HAND = ("logp", "entropy", "mean_logp")
"""The statistics known here; see `autoregressive.STATISTICS` for what they are."""


class Limits(NamedTuple):
    """What a token was drawn under: temperature [A] or None, and support [A, K] ids padded with -1 or None."""

    temperature: Tensor | None
    support: Tensor | None

    def cut(self, rows: slice) -> Limits:
        return Limits(*(None if stream is None else stream[rows] for stream in self))


def statistics(
    hidden: Tensor, weight: Tensor, target: Tensor, limits: Limits, wants: Sequence[str], size: int
) -> list[Tensor]:
    """Each of `wants` [A] for the distributions softmax(hidden weight^T) [A, V] and the tokens `target` [A] drawn.

    size: positions per chunk. Differentiable once, in `hidden` [A, H] and `weight` [V, H].
    """
    return list(_Statistics.apply(hidden, weight, target, limits, tuple(wants), size))  # type: ignore[no-untyped-call]


class _Statistics(Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, target: Tensor, limits: Limits, wants: tuple[str, ...], size: int
    ) -> tuple[Tensor, ...]:
        ctx.limits, ctx.wants, ctx.size = limits, wants, size
        keep = any(ctx.needs_input_grad[:2]) and len(hidden) * len(weight) <= KEPT_ELEMENTS
        ctx.kept = [] if keep else None
        found = []
        for rows in _chunks(len(hidden), size):
            logprobs = _log_probabilities(hidden[rows], weight, limits.cut(rows))
            found.append([_VALUES[name](logprobs, target[rows]) for name in wants])
            if keep:
                ctx.kept.append(logprobs)
        columns = [torch.cat(column) for column in zip(*found, strict=True)]
        ctx.save_for_backward(hidden, target, *columns)
        ctx.weight = weight
        return tuple(columns)

    @staticmethod
    @once_differentiable  # type: ignore[misc]
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        hidden, target, *values = ctx.saved_tensors
        weight = ctx.weight
        dhidden = torch.empty_like(hidden)
        dweight: Tensor | None = None
        for i, rows in enumerate(_chunks(len(hidden), ctx.size)):
            limits = ctx.limits.cut(rows)
            logprobs = ctx.kept[i] if ctx.kept else _log_probabilities(hidden[rows], weight, limits)
            asked = {n: (g[rows, None], v[rows, None]) for n, g, v in zip(ctx.wants, grads, values, strict=True)}
            dlogits = _gradient(logprobs, target[rows], asked)
            if limits.temperature is not None:
                dlogits.div_(limits.temperature[:, None])
            dlogits = dlogits.to(weight.dtype)
            torch.mm(dlogits, weight, out=dhidden[rows])
            if dweight is None:
                dweight = onto(ctx.weight, dlogits, hidden[rows])
            else:
                dweight.addmm_(dlogits.T, hidden[rows])
        return dhidden, dweight, None, None, None, None


def _chunks(rows: int, size: int) -> Iterator[slice]:
    return (slice(begin, begin + size) for begin in range(0, rows, size))


def _log_probabilities(hidden: Tensor, weight: Tensor, limits: Limits) -> Tensor:
    """[C, V] in float32."""
    logits = (hidden @ weight.T).float()
    if limits.temperature is not None:
        logits /= limits.temperature[:, None]
    if limits.support is not None:
        logits = restrict(logits, limits.support)
    return torch.log_softmax(logits, dim=1)


def restrict(logits: Tensor, support: Tensor) -> Tensor:
    """Logits [C, V] with everything outside the support [C, K] ruled out; a row of -1 keeps the whole vocabulary."""
    kept = torch.zeros_like(logits, dtype=torch.bool)
    rows, columns = (support >= 0).nonzero(as_tuple=True)
    kept[rows, support[rows, columns].long()] = True
    kept |= (support < 0).all(1, keepdim=True)
    return logits.masked_fill(~kept, float("-inf"))


def logp(logprobs: Tensor, chosen: Tensor) -> Tensor:
    return logprobs.gather(1, chosen[:, None]).squeeze(1)


def entropy(logprobs: Tensor, chosen: Tensor) -> Tensor:
    """Nats, >= 0; ruled-out tokens (log-probability -inf) add nothing."""
    possible = logprobs.isfinite()  # before the product: the gradient of 0 x -inf is NaN, whatever is made of it later
    return -(torch.where(possible, logprobs, 0.0) * torch.where(possible, logprobs.exp(), 0.0)).sum(1)


def mean_logp(logprobs: Tensor, chosen: Tensor) -> Tensor:
    """Mean log-probability over the tokens that could have been chosen."""
    possible = logprobs.isfinite()
    return torch.where(possible, logprobs, 0.0).sum(1) / possible.sum(1)


_VALUES = {"logp": logp, "entropy": entropy, "mean_logp": mean_logp}


def _gradient(logprobs: Tensor, target: Tensor, asked: dict[str, tuple[Tensor, Tensor]]) -> Tensor:
    """Gradient [C, V] in the logits; asked: each statistic's upstream gradient and value [C, 1]. Eats `logprobs`.

    With p the probabilities and q uniform over what is possible: logp gives 1[target] - p, the mean q - p, and the
    entropy H gives -p (log p + H).
    """
    onto_p = logprobs.new_zeros(len(logprobs), 1)  # [C, 1] what every p is taken with
    for name in {"logp", "mean_logp"} & set(asked):
        onto_p = onto_p + asked[name][0]
    if "entropy" in asked:
        upstream, value = asked["entropy"]
        possible = logprobs.isfinite()
        inner = torch.where(possible, logprobs, 0.0).add_(value).mul_(upstream).add_(onto_p)
    else:
        possible, inner = None, onto_p
    if "mean_logp" in asked and possible is None:
        possible = logprobs.isfinite()
    out = logprobs.exp_().mul_(inner).neg_()
    if "mean_logp" in asked:
        assert possible is not None
        out += possible * (asked["mean_logp"][0] / possible.sum(1, keepdim=True))
    if "logp" in asked:
        out.scatter_add_(1, target[:, None], asked["logp"][0])
    return out
