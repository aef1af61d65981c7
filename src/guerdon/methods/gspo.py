"""GSPO: the ratio of whole sequences, length-normalised, is what is clipped."""

from __future__ import annotations

from guerdon.advantages.group import GroupNorm
from guerdon.losses.policy import MeanRatioClip
from guerdon.method import Card, Method, Term
from guerdon.reduce import sequence_mean

CARD = Card(
    slug="gspo",
    name="GSPO",
    family="policy",
    paper="Zheng et al. 2025, Group sequence policy optimization, arXiv:2507.18071",
    summary="GRPO with one importance ratio per sequence, the geometric mean of its token ratios.",
)


def gspo(
    clip_low: float = 3e-4, clip_high: float = 4e-4, eps: float = 1e-6, epochs: int = 1, minibatches: int = 1
) -> Method:
    """L = mean_i max(-A_i s_i, -A_i clip(s_i, 1 - clip_low, 1 + clip_high)), s_i = exp(mean_t log(pi / pi_old)).

    A_i as in GRPO.
    """
    settings = dict(locals())
    return Method(
        terms=(Term(MeanRatioClip(clip_low, clip_high), sequence_mean),),
        estimator=GroupNorm(eps),
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )
