"""RLOO: REINFORCE whose baseline is the mean return of the prompt's other completions."""

from __future__ import annotations

from guerdon.advantages.chain import Chain
from guerdon.advantages.group import LeaveOneOut
from guerdon.advantages.penalty import KLPenalty
from guerdon.losses.policy import PolicyGradient, SequenceRatioClip
from guerdon.method import Card, Estimator, Method, Role, Term
from guerdon.reduce import Reduce, sequence_mean, sequence_sum

CARD = Card(
    slug="rloo",
    name="RLOO",
    family="policy",
    paper="Ahmadian et al. 2024, Back to basics: revisiting REINFORCE-style optimization for RLHF, arXiv:2402.14740",
    summary="An unbiased policy gradient whose baseline is the mean return of the other completions of the prompt.",
    differs="beta is 0 by default. `rloo_clipped` is the form for several epochs, with the clipped sequence ratio.",
)


def rloo(beta: float = 0.0, reduce: Reduce = sequence_sum) -> Method:
    """L = mean_i sum_t -A_i log pi(y_t), A_i = R_i - mean of the group's other returns.

    R includes -beta sum_t (log pi_old - log pi_ref); beta > 0 adds a frozen copy of the starting policy as role `ref`.
    """
    settings = dict(locals())
    return Method(
        terms=(Term(PolicyGradient(), reduce),),
        estimator=_estimator(beta),
        roles={"ref": Role()} if beta else {},
        settings=settings,
    )


def rloo_clipped(
    clip_low: float = 0.2, clip_high: float = 0.2, beta: float = 0.05, epochs: int = 1, minibatches: int = 1
) -> Method:
    """L = mean_i max(-A_i s_i, -A_i clip(s_i, 1 - clip_low, 1 + clip_high)), s_i = pi(y_i) / pi_old(y_i) of sequences.

    With s = 1 the gradient is that of `rloo`.
    """
    settings = dict(locals())
    return Method(
        terms=(Term(SequenceRatioClip(clip_low, clip_high), sequence_mean),),
        estimator=_estimator(beta),
        roles={"ref": Role()} if beta else {},
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )


def _estimator(beta: float) -> Estimator:
    return Chain((KLPenalty(beta), LeaveOneOut())) if beta else LeaveOneOut()
