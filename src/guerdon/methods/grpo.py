"""GRPO: completions of one prompt are compared with each other instead of with a learned value."""

from __future__ import annotations

from guerdon.advantages.group import GroupNorm
from guerdon.losses.divergence import KLToReference
from guerdon.losses.policy import Clip
from guerdon.method import Card, Method, Role, Term
from guerdon.reduce import Reduce, sequence_mean

CARD = Card(
    slug="grpo",
    name="GRPO",
    family="policy",
    paper="Shao et al. 2024, DeepSeekMath: pushing the limits of mathematical reasoning, arXiv:2402.03300",
    summary="Clipped policy gradient whose advantage is the completion's reward standardised within its group.",
    differs="beta is 0 by default; groups of equal rewards get advantage 0, while a KL term still trains on them.",
)


def grpo(
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    beta: float = 0.0,
    eps: float = 1e-6,
    reduce: Reduce = sequence_mean,
    epochs: int = 1,
    minibatches: int = 1,
) -> Method:
    """L = mean_i mean_t max(-A_i rho, -A_i clip(rho, 1 - clip_low, 1 + clip_high)) + beta k3(log pi - log pi_ref).

    A_i = (R_i - mean R) / (std R + eps) within the group, rho = pi / pi_old per token. beta > 0 adds a frozen copy
    of the starting policy as role `ref`.
    """
    settings = dict(locals())
    kl = (Term(KLToReference(), reduce, scale=beta, name="kl"),) if beta else ()
    return Method(
        terms=(Term(Clip(clip_low, clip_high), reduce), *kl),
        estimator=GroupNorm(eps),
        roles={"ref": Role()} if beta else {},
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )
