"""CISPO: the importance weight is clipped and detached, so that no token loses its gradient."""

from __future__ import annotations

from guerdon.advantages.group import GroupNorm
from guerdon.losses.policy import Capped
from guerdon.method import Card, Method, Term
from guerdon.reduce import Reduce, token_mean

CARD = Card(
    slug="cispo",
    name="CISPO",
    family="policy",
    paper="MiniMax 2025, MiniMax-M1: scaling test-time compute efficiently with lightning attention, arXiv:2506.13585",
    summary="REINFORCE weighted by the probability ratio, which is clipped and carries no gradient of its own.",
    differs="The bounds are on the ratio itself rather than on its distance from 1; below it is free by default.",
)


def cispo(
    low: float = 0.0,
    high: float = 5.0,
    eps: float = 1e-6,
    reduce: Reduce = token_mean,
    epochs: int = 1,
    minibatches: int = 1,
) -> Method:
    """L = mean of -stopgrad(clip(rho, low, high)) A_i log pi(y_t), A_i as in GRPO.

    low, high: bounds of the ratio. The two-sided form with distances e_low and e_high is low = 1 - e_low,
    high = 1 + e_high.
    """
    settings = dict(locals())
    return Method(
        terms=(Term(Capped(low, high), reduce),),
        estimator=GroupNorm(eps),
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )
