"""DAPO: GRPO with a wider upper clip, only informative groups, a token mean and a gentle length limit."""

from __future__ import annotations

from guerdon.advantages.group import GroupNorm
from guerdon.filters import Informative
from guerdon.losses.policy import Clip
from guerdon.method import Card, Method, Term
from guerdon.reduce import token_mean
from guerdon.rewards.shape import Overlong

CARD = Card(
    slug="dapo",
    name="DAPO",
    family="policy",
    paper="Yu et al. 2025, DAPO: an open-source LLM reinforcement learning system at scale, arXiv:2503.14476",
    summary="Clip-higher, dynamic sampling of informative prompts, token-level loss and overlong reward shaping.",
    differs="The source refills dropped groups one by one until the batch is full.",
)


def dapo(
    clip_low: float = 0.2,
    clip_high: float = 0.28,
    max_new_tokens: int = 64,
    overlong_buffer: int = 0,
    factor: float = 1.0,
    eps: float = 1e-6,
    epochs: int = 1,
    minibatches: int = 1,
) -> Method:
    """L = 1 / (sum_i |y_i|) sum_i sum_t max(-A_i rho, -A_i clip(rho, 1 - clip_low, 1 + clip_high)), A_i as in GRPO.

    overlong_buffer > 0 adds the reward min(0, -factor (L - (max_new_tokens - buffer)) / buffer), which decides about
    advantages but not about which groups are informative.
    """
    settings = dict(locals())
    shaping = (Overlong(max_new_tokens, overlong_buffer, factor),) if overlong_buffer else ()
    return Method(
        terms=(Term(Clip(clip_low, clip_high), token_mean),),
        estimator=GroupNorm(eps),
        rewards=shaping,
        filters=(Informative(ignore=tuple(reward.name for reward in shaping)),),
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )
