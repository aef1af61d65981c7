"""Dr. GRPO: GRPO without the two divisions that favour some prompts and some lengths."""

from __future__ import annotations

from guerdon.advantages.group import GroupMean
from guerdon.losses.policy import Clip
from guerdon.method import Card, Method, Term
from guerdon.reduce import constant

CARD = Card(
    slug="dr-grpo",
    name="Dr. GRPO",
    family="policy",
    paper="Liu et al. 2025, Understanding R1-Zero-like training: a critical perspective, arXiv:2503.20783",
    summary="GRPO with advantages that are only centred, and losses divided by a constant instead of by the length.",
)


def dr_grpo(
    max_new_tokens: int = 64, clip_low: float = 0.2, clip_high: float = 0.2, epochs: int = 1, minibatches: int = 1
) -> Method:
    """L = 1 / (B max_new_tokens) sum_i sum_t max(-A_i rho, -A_i clip(rho, 1 - clip_low, 1 + clip_high)).

    A_i = R_i - mean R of the group. max_new_tokens: the largest completion length, the same for the whole run.
    """
    settings = dict(locals())
    return Method(
        terms=(Term(Clip(clip_low, clip_high), constant(max_new_tokens)),),
        estimator=GroupMean(),
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )
