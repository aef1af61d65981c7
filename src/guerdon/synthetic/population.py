"""What learning from endless labels leads to: the best Bradley-Terry parameters of a population of pairs."""

from __future__ import annotations

import numpy as np

from guerdon.synthetic.labels import Array, sigmoid

STEPS = 100
TOLERANCE = 1e-9


def bt_optimum(differences: Array, probability: Array, weights: Array | None = None, ridge: float = 0.0) -> Array:
    """argmin over w of the mean of -p log sigmoid(w.d) - (1 - p) log sigmoid(-w.d) + ridge |w|^2 / 2, by Newton. [D]

    differences: d, features of a less those of b [n, D]. probability: that a is preferred [n]. weights: of the pairs,
    [n] (default: equal). Where p = sigmoid(w.d), that w is found. ValueError where no finite w is best: every label
    is certain along some direction, or a direction has no difference at all.
    """
    share = np.full(len(probability), 1.0) if weights is None else weights
    share = share / share.sum()
    w = np.zeros(differences.shape[1])
    for _ in range(STEPS):
        predicted = sigmoid(differences @ w)
        gradient = differences.T @ (share * (predicted - probability)) + ridge * w
        curvature = (differences * (share * predicted * (1 - predicted))[:, None]).T @ differences
        step = _solve(curvature + ridge * np.eye(len(w)), gradient)
        # The gradient vanishes far out too, where labels are certain; the step does not.
        if float(np.abs(step).max()) < TOLERANCE * (1 + float(np.abs(w).max())):
            return w - step
        w = w - _shrunk(step, w, differences, probability, share, ridge)
    raise ValueError(
        f"no finite parameters are best: after {STEPS} Newton steps |w| is {np.linalg.norm(w):.3g} and still moves. "
        "Labels may be certain along some direction; a ridge > 0 bounds it"
    )


def bt_loss(w: Array, differences: Array, probability: Array, share: Array, ridge: float = 0.0) -> float:
    """What `bt_optimum` minimises, at w. share: weights that sum to 1 [n]."""
    z = differences @ w
    losses = probability * np.logaddexp(0, -z) + (1 - probability) * np.logaddexp(0, z)
    return float(share @ losses + ridge * (w @ w) / 2)


def _solve(curvature: Array, gradient: Array) -> Array:
    if np.linalg.cond(curvature) > 1e14:
        raise ValueError(
            "no finite parameters are best, or more than one set is: the pairs do not differ along some direction, or "
            "their labels are certain along it; a ridge > 0 settles it"
        )
    return np.asarray(np.linalg.solve(curvature, gradient))


def _shrunk(step: Array, w: Array, differences: Array, probability: Array, share: Array, ridge: float) -> Array:
    """The Newton step, halved until the loss does not grow."""
    before = bt_loss(w, differences, probability, share, ridge)
    for _ in range(40):
        if bt_loss(w - step, differences, probability, share, ridge) <= before + 1e-15:
            return step
        step = step / 2
    return step
