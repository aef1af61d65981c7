"""Group-robust PO: does weighing groups by their losses help the group that the average forgets?

Two groups of people, 900 and 100 pairs, prefer by log-linear models whose parameters are shared + u and shared - u
(8 features, all drawn from N(0, 1)). One log-linear policy learns from both: its margin on a pair is theta . x, x the
features of the better reply less those of the worse, and beta is 1. 1500 steps of SGD at 0.05 with batches of 64 drawn
from the pooled pairs; eta 0.05. Losses are measured on 4000 fresh pairs of each group. `noisy_` are the same figures
where the small group's choices are half as decided, so that its loss has a higher floor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from guerdon.claims.base import Claim, Expect, Figures, Measured
from guerdon.losses.preference import dpo
from guerdon.losses.robust import exponentiated, group_losses

COUNTS = (900, 100)
FEATURES, BATCH, RATE, ETA = 8, 64, 0.05, 0.05
DPO, FIXED, ROBUST = "DPO", "fixed weights", "group-robust"


@dataclass(frozen=True)
class Pairs:
    """x: features of the better reply less those of the worse [P, 8]; group: [P]."""

    x: Tensor
    group: Tensor


def measure(arm: str, seed: int, quick: bool) -> Measured:
    steps = 100 if quick else 1500
    plain, noisy = (_figures(arm, seed, steps, decided) for decided in (1.0, 0.5))
    figures = {**plain, **{f"noisy_{name}": value for name, value in noisy.items()}}
    return Measured(figures, {"labels": sum(COUNTS), "gradient_steps": steps})


def _figures(arm: str, seed: int, steps: int, decided: float) -> Figures:
    numbers = np.random.default_rng(seed)
    shared, u = numbers.normal(size=(2, FEATURES))
    taste = np.stack([shared + u, decided * (shared - u)])
    train, test = _pairs(numbers, taste, COUNTS), _pairs(numbers, taste, (4000, 4000))
    theta = _train(arm, train, numbers, steps)
    loss, right = dpo(test.x @ theta, 1.0), (test.x @ theta > 0).double()
    losses = [float(loss[test.group == g].mean()) for g in (0, 1)]
    return {
        "worst_loss": max(losses),
        "worst_accuracy": min(float(right[test.group == g].mean()) for g in (0, 1)),
        "loss_gap": abs(losses[0] - losses[1]),
        "average_loss": float(np.average(losses, weights=COUNTS)),
    }


def _pairs(numbers: np.random.Generator, taste: np.ndarray, counts: tuple[int, int]) -> Pairs:
    group = np.repeat([0, 1], counts)
    x = numbers.normal(size=(len(group), FEATURES))
    first = numbers.random(len(group)) < 1 / (1 + np.exp(-(x * taste[group]).sum(1)))
    return Pairs(torch.from_numpy(np.where(first[:, None], x, -x)), torch.from_numpy(group))


def _train(arm: str, pairs: Pairs, numbers: np.random.Generator, steps: int) -> Tensor:
    theta = torch.zeros(FEATURES, dtype=torch.float64, requires_grad=True)
    share = torch.tensor(COUNTS).double() / sum(COUNTS)
    alpha = torch.full((2,), 0.5, dtype=torch.float64)
    for _ in range(steps):
        rows = torch.from_numpy(numbers.integers(len(pairs.x), size=BATCH))
        loss, group = dpo(pairs.x[rows] @ theta, 1.0), pairs.group[rows]
        of_groups = group_losses(loss, group, share[group], 2)
        if arm == ROBUST:
            alpha = exponentiated(alpha, of_groups.detach(), ETA)
        total = loss.mean() if arm == DPO else (alpha * of_groups).sum()
        (slope,) = torch.autograd.grad(total, theta)
        theta = (theta - RATE * slope).detach().requires_grad_()
    return theta.detach()


CLAIM = Claim(
    slug="group-robust-po",
    claim="The worst group fares better than under DPO, and losses of groups lie closer together.",
    arms=(DPO, FIXED, ROBUST),
    run=measure,
    expect=(
        Expect("worst_loss", ROBUST, DPO, "lower"),
        Expect("worst_accuracy", ROBUST, DPO, "higher"),
        Expect("loss_gap", ROBUST, DPO, "lower"),
        Expect("worst_loss", ROBUST, FIXED, "lower", control=True),
        Expect("noisy_worst_loss", ROBUST, FIXED, "lower", control=True),
        Expect("average_loss", ROBUST, DPO, "lower", control=True),
    ),
    seeds=10,
    source=("guerdon.losses.robust", "guerdon.losses.preference"),
)
