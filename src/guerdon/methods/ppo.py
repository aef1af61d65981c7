"""PPO with a learned value: the clipped policy gradient with generalised advantages."""

from __future__ import annotations

from guerdon.advantages.chain import Chain
from guerdon.advantages.gae import GAE
from guerdon.advantages.penalty import KLPenalty
from guerdon.advantages.whiten import Whiten
from guerdon.losses.policy import Clip, DualClip
from guerdon.losses.value import PlainValueLoss, ValueLoss
from guerdon.method import Card, Estimator, Method, Objective, Role, Term
from guerdon.reduce import Reduce, token_mean

CARD = Card(
    slug="ppo",
    name="PPO",
    family="policy",
    paper="Schulman et al. 2017, Proximal policy optimization algorithms, arXiv:1707.06347",
    summary="Several passes over each batch with a clipped probability ratio; advantages from a value model by GAE.",
    differs="The value model has weights and an optimiser of its own; KL to the reference is taken from the reward.",
)

DEFAULTS = {"beta": 0.01, "epochs": 2}
"""What the recipe starts from: a small policy, learning from a few hundred completions a step."""


def ppo(
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    dual_clip: float | None = None,
    gamma: float = 1.0,
    lam: float = 0.95,
    beta: float = 0.05,
    value_clip: float | None = 0.2,
    value_lr: float | None = None,
    reduce: Reduce = token_mean,
    epochs: int = 4,
    minibatches: int = 1,
) -> Method:
    """L = mean of max(-A rho, -A clip(rho, 1 - clip_low, 1 + clip_high)); L_V = mean of the clipped squared error / 2.

    r_t = -beta (log pi_old - log pi_ref) plus the score at the end; A by GAE(gamma, lam), normalised over the batch;
    the value is fitted to A + V from before that. dual_clip > 1 bounds the loss by -A dual_clip where A < 0; a
    value_clip of None fits the value without a clip.
    """
    settings = dict(locals())
    penalty: tuple[Estimator, ...] = (KLPenalty(beta),) if beta else ()
    surrogate: Objective = Clip(clip_low, clip_high) if dual_clip is None else DualClip(clip_low, clip_high, dual_clip)
    fit: Objective = PlainValueLoss() if value_clip is None else ValueLoss(value_clip)
    value = Role(head="value", terms=(Term(fit, token_mean, name="value"),), lr=value_lr)
    return Method(
        terms=(Term(surrogate, reduce),),
        estimator=Chain((*penalty, GAE(gamma, lam), Whiten())),
        roles={"value": value, "ref": Role()} if beta else {"value": value},
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )
