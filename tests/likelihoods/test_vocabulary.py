"""Statistics with gradients by hand are those of autograd, kept or computed again, truncated or not."""

from __future__ import annotations

import pytest
import torch

from guerdon.likelihoods import vocabulary
from guerdon.likelihoods.autoregressive import STATISTICS
from guerdon.likelihoods.vocabulary import BY_HAND, Limits, restrict, statistics

TARGET = torch.tensor([0, 3, 6, 2, 2])
SUPPORT = torch.tensor([[0, 1, -1], [3, 5, 6], [-1, -1, -1], [2, -1, -1], [2, 4, -1]])
LIMITS = {
    "whole": Limits(None, None),
    "tempered": Limits(torch.tensor([0.5, 1.0, 2.0, 0.7, 1.3]), None),
    "truncated": Limits(torch.tensor([0.5, 1.0, 2.0, 0.7, 1.3]), SUPPORT),
}


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    dice = torch.Generator().manual_seed(0)
    return torch.randn(5, 4, generator=dice, requires_grad=True), torch.randn(7, 4, generator=dice, requires_grad=True)


def reference(hidden, weight, limits, wants):
    logits = hidden @ weight.T
    if limits.temperature is not None:
        logits = logits / limits.temperature[:, None]
    if limits.support is not None:
        logits = restrict(logits, limits.support)
    logprobs = torch.log_softmax(logits, 1)
    return [STATISTICS[name](logprobs, TARGET) for name in wants]


@pytest.mark.parametrize("kept", [0, 1 << 20])
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("wants", [("logp",), ("entropy",), ("mean_logp",), BY_HAND, ("entropy", "logp")], ids="+".join)
def test_values_and_gradients_are_autograds(wants, limits, kept, monkeypatch):
    monkeypatch.setattr(vocabulary, "KEPT_ELEMENTS", kept)
    hidden, weight = inputs()
    upstream = torch.linspace(-1, 2, 5)

    def gradient(columns):
        total = sum(((i + 1) * upstream * column).sum() for i, column in enumerate(columns))
        return torch.autograd.grad(total, [hidden, weight])

    ours = statistics(hidden, weight, TARGET, LIMITS[limits], wants, size=2)
    theirs = reference(hidden, weight, LIMITS[limits], wants)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)
    for a, b in zip(gradient(ours), gradient(theirs), strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-5)


def test_a_frozen_head_gets_no_gradient():
    hidden, weight = inputs()
    weight = weight.detach()
    (found,) = statistics(hidden, weight, TARGET, LIMITS["whole"], ("logp",), size=3)
    found.sum().backward()
    (expected,) = torch.autograd.grad(reference(hidden, weight, LIMITS["whole"], ("logp",))[0].sum(), [hidden])
    torch.testing.assert_close(hidden.grad, expected, atol=1e-6, rtol=1e-5)
    assert weight.grad is None


def test_half_precision_states_give_statistics_in_full():
    hidden, weight = (t.detach().bfloat16().requires_grad_(True) for t in inputs())
    found = statistics(hidden, weight, TARGET, LIMITS["tempered"], BY_HAND, size=2)
    assert {t.dtype for t in found} == {torch.float32}
    sum(t.sum() for t in found).backward()
    assert hidden.grad.dtype == weight.grad.dtype == torch.bfloat16
