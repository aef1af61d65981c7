"""VRPO: does a preference model make few labels worth more, when the Bradley-Terry model is wrong?

12 replies with 3 features; true preferences are neither linear in them nor transitive. A linear Bradley-Terry model is
fitted, by Newton's method, to 50 labelled pairs of replies drawn uniformly, with the logistic loss; VRPO has 4000
further pairs without labels, and g. The aim is the parameter that all labels in the world would give. A seed is a
problem; `distance` is the median over 100 repeats of the squared distance to the aim, `ridge_distance` the mean with
0.01 |theta|^2 added to every loss, `far` the share of repeats farther than 100 (where the logistic loss, linear in the
labelled pairs, has no minimum near by). `bias` is the length of the error of the gradient, averaged over the repeats,
at a fixed theta. Noise on g is 0.5 in its logit; the wrong g is the true one reversed; the wrong reference draws the
unlabelled pairs by a softmax of N(0, 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from guerdon.claims.base import Claim, Expect, Measured
from guerdon.losses.auxiliary import expected, logistic, surprise

REPLIES, FEATURES, LABELS, UNLABELLED = 12, 3, 50, 4000
RIDGE, FAR, STEPS = 0.01, 100.0, 60
PLAIN, TRUE, NOISY, OWN = "maximum likelihood", "true g", "noisy g", "own g"
WRONG, OFF = "wrong g", "wrong g, wrong reference"

Loss = Callable[[Tensor], Tensor]
"""theta [R, 3] -> loss of each repeat [R]."""


@dataclass(frozen=True)
class Problem:
    """features: [12, 3]. wins: probability that the row beats the column [12, 12]. noise: antisymmetric, for the logits
    of g [12, 12]. elsewhere: the wrong reference [12]. point: where gradients are compared [3]."""

    features: Tensor
    wins: Tensor
    noise: Tensor
    elsewhere: Tensor
    point: Tensor

    @property
    def differences(self) -> Tensor:
        """[144, 3] features of the row less those of the column."""
        return (self.features[:, None] - self.features[None]).reshape(-1, FEATURES)

    def g(self, arm: str) -> Tensor:
        """What the preference model says of each ordered pair. [144]"""
        if arm in (WRONG, OFF):
            return 1 - self.wins.reshape(-1)
        return torch.sigmoid(torch.logit(self.wins) + (self.noise if arm == NOISY else 0)).reshape(-1)


def problem(numbers: np.random.Generator) -> Problem:
    features = numbers.normal(size=(REPLIES, FEATURES))
    worth = features @ numbers.normal(size=FEATURES) + 0.5 * (features @ numbers.normal(size=FEATURES)) ** 2
    logits = worth[:, None] - worth[None] + _antisymmetric(numbers)
    noise = 0.5 * _antisymmetric(numbers)
    weights = np.exp(numbers.normal(size=REPLIES))
    point = numbers.normal(size=FEATURES)
    tensors = (features, 1 / (1 + np.exp(-logits)), noise, weights / weights.sum(), point)
    return Problem(*(torch.from_numpy(one) for one in tensors))


def _antisymmetric(numbers: np.random.Generator) -> np.ndarray:
    """Entries of N(0, 1). [12, 12]"""
    upper = np.triu(numbers.normal(size=(REPLIES, REPLIES)), 1)
    return upper - upper.T


def measure(arm: str, seed: int, quick: bool) -> Measured:
    numbers = np.random.default_rng(seed)
    one, repeats = problem(numbers), 10 if quick else 100
    aim = fit(population(one), 1)[0]
    loss = sampled(one, arm, numbers, repeats)
    squared = (fit(loss, repeats) - aim).square().sum(-1)
    ridged = (fit(lambda theta: loss(theta) + RIDGE * theta.square().sum(-1), repeats) - aim).square().sum(-1)
    bias = slope(loss, one.point.expand(repeats, -1)).mean(0) - slope(population(one), one.point[None])[0]
    figures = {
        "distance": float(squared.median()),
        "ridge_distance": float(ridged.mean()),
        "far": float((squared > FAR).double().mean()),
        "bias": float(bias.norm()),
    }
    asked = 0 if arm in (PLAIN, OWN) else LABELS + UNLABELLED
    return Measured(figures, {"labels": LABELS, "judge_calls": asked})


def population(one: Problem) -> Loss:
    """The loss that all labels in the world give."""
    wins = one.wins.reshape(-1)
    return lambda theta: expected(logistic, theta @ one.differences.T, wins).mean(-1)


def sampled(one: Problem, arm: str, numbers: np.random.Generator, repeats: int) -> Loss:
    """The arm's loss on labelled and unlabelled pairs drawn anew for each repeat."""
    cells = numbers.integers(REPLIES**2, size=(repeats, LABELS))
    won = torch.from_numpy(numbers.random((repeats, LABELS))) < one.wins.reshape(-1)[cells]
    reference = one.elsewhere if arm == OFF else torch.full((REPLIES,), 1 / REPLIES, dtype=torch.float64)
    chances = (reference[:, None] * reference[None]).reshape(-1).numpy()
    drawn = torch.from_numpy(numbers.multinomial(UNLABELLED, chances / chances.sum(), size=repeats) / UNLABELLED)
    sign = torch.where(won, 1.0, -1.0).double()  # [R, 50] +1 where the first won
    given = one.g(arm)

    def loss(theta: Tensor) -> Tensor:
        m = theta @ one.differences.T  # [R, 144]
        observed = sign * m.gather(1, torch.from_numpy(cells))
        if arm == PLAIN:
            return logistic(observed).mean(-1)
        g = torch.sigmoid(m).detach() if arm == OWN else given.expand_as(m)
        first = g.gather(1, torch.from_numpy(cells))
        seen = surprise(logistic, observed, torch.where(won, first, 1 - first)).mean(-1)
        return seen + (drawn * expected(logistic, m, g)).sum(-1)

    return loss


def slope(loss: Loss, theta: Tensor) -> Tensor:
    """Gradient of each repeat. [R, 3]"""
    theta = theta.detach().clone().requires_grad_()
    (found,) = torch.autograd.grad(loss(theta).sum(), theta)
    return found


def fit(loss: Loss, repeats: int) -> Tensor:
    """Newton's method from 0, steps no longer than 1; what has no minimum goes far, and is left there. [R, 3]"""
    theta = torch.zeros(repeats, FEATURES, dtype=torch.float64)
    for _ in range(STEPS):
        theta = theta.requires_grad_()
        (first,) = torch.autograd.grad(loss(theta).sum(), theta, create_graph=True)
        rows = [torch.autograd.grad(first[:, k].sum(), theta, retain_graph=True)[0] for k in range(FEATURES)]
        curvature = torch.stack(rows, 1) + 1e-9 * torch.eye(FEATURES, dtype=torch.float64)
        step = torch.linalg.solve(curvature, first.detach()[..., None])[..., 0]
        theta = (theta - step / step.norm(dim=-1, keepdim=True).clamp(min=1)).detach()
    return theta


CLAIM = Claim(
    slug="vrpo",
    claim="With a preference model of some worth, estimates from few labels lie closer to what all labels would give.",
    arms=(PLAIN, TRUE, NOISY, OWN, WRONG, OFF),
    run=measure,
    expect=(
        Expect("distance", TRUE, PLAIN, "lower"),
        Expect("distance", NOISY, PLAIN, "lower"),
        Expect("distance", TRUE, NOISY, "lower"),
        Expect("bias", WRONG, OFF, "lower"),
        Expect("distance", OWN, PLAIN, "lower", control=True),
        Expect("ridge_distance", TRUE, PLAIN, "lower", control=True),
    ),
    seeds=20,
    source=("guerdon.losses.auxiliary",),
)
