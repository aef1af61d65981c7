"""REINFORCE with a batch-mean baseline: the plainest policy gradient."""

from __future__ import annotations

from guerdon.advantages.baseline import MinusBatchMean
from guerdon.advantages.chain import Chain
from guerdon.advantages.gae import ReturnToGo
from guerdon.losses.policy import PolicyGradient
from guerdon.method import Card, Method, Term
from guerdon.reduce import Reduce, sequence_sum

CARD = Card(
    slug="reinforce",
    name="REINFORCE",
    family="policy",
    paper="Williams 1992, Simple statistical gradient-following algorithms for connectionist reinforcement learning",
    summary="Raises the log-probability of what was sampled in proportion to how much better than average it did.",
    differs="The baseline is the mean return of the batch.",
)


def reinforce(gamma: float = 1.0, reduce: Reduce = sequence_sum) -> Method:
    """L = mean over sequences of sum_t -(G_t - b) log pi(y_t), G_t = sum over s >= t of gamma^(s-t) r_s, b = mean R."""
    settings = dict(locals())
    return Method(
        terms=(Term(PolicyGradient(), reduce),),
        estimator=Chain((ReturnToGo(gamma), MinusBatchMean())),
        settings=settings,
    )
