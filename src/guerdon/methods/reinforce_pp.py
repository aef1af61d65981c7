"""REINFORCE++: returns-to-go with the KL in the reward, normalised over the whole batch."""

from __future__ import annotations

from guerdon.advantages.baseline import CentreRewards
from guerdon.advantages.chain import Chain
from guerdon.advantages.gae import ReturnToGo
from guerdon.advantages.penalty import KLPenalty
from guerdon.advantages.whiten import Whiten
from guerdon.losses.policy import Clip
from guerdon.method import Card, Estimator, Method, Role, Term
from guerdon.reduce import Reduce, token_mean

CARD = Card(
    slug="reinforce-pp",
    name="REINFORCE++",
    family="policy",
    paper="Hu et al. 2025, REINFORCE++: stabilizing critic-free policy optimization, arXiv:2501.03262",
    summary="PPO's loss without a critic: token returns with a KL penalty, normalised over all tokens of the batch.",
    differs="The variance is the unbiased one. `reinforce_pp_baseline` first subtracts the group's mean score.",
)


def reinforce_pp(
    beta: float = 0.01,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    gamma: float = 1.0,
    reduce: Reduce = token_mean,
    epochs: int = 1,
    minibatches: int = 1,
) -> Method:
    """A_t = normalise over the batch of sum over s >= t of gamma^(s-t) (r_s - beta (log pi_old - log pi_ref)_s).

    The loss is PPO's. beta > 0 adds a frozen copy of the starting policy as role `ref`.
    """
    settings = dict(locals())
    penalty: tuple[Estimator, ...] = (KLPenalty(beta),) if beta else ()
    return Method(
        terms=(Term(Clip(clip_low, clip_high), reduce),),
        estimator=Chain((*penalty, ReturnToGo(gamma), Whiten())),
        roles={"ref": Role()} if beta else {},
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )


def reinforce_pp_baseline(
    beta: float = 0.01,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    reduce: Reduce = token_mean,
    epochs: int = 1,
    minibatches: int = 1,
) -> Method:
    """`reinforce_pp` on scores minus their group's mean: a group baseline, but no group deviation."""
    settings = dict(locals())
    penalty: tuple[Estimator, ...] = (KLPenalty(beta),) if beta else ()
    return Method(
        terms=(Term(Clip(clip_low, clip_high), reduce),),
        estimator=Chain((CentreRewards(), *penalty, ReturnToGo(), Whiten())),
        roles={"ref": Role()} if beta else {},
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )
