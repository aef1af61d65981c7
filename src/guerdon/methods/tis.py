"""Truncated importance sampling: makes up for a sampler whose kernels are not the trainer's."""

from __future__ import annotations

from dataclasses import replace

from guerdon.advantages.chain import Chain
from guerdon.advantages.correction import Level, TruncatedImportance, per_token
from guerdon.losses.policy import Corrected
from guerdon.method import Card, Estimator, Method
from guerdon.methods.grpo import grpo

CARD = Card(
    slug="tis",
    name="Truncated importance sampling",
    family="policy",
    paper="Yao et al. 2025, Your efficient RL framework secretly brings you off-policy RL training",
    summary="Multiplies the policy loss by min(pi_trainer / pi_sampler, cap), at the weights that sampled.",
    differs="Applies to any method; the constructor of that name applies it to GRPO.",
)


def truncated_importance(method: Method, cap: float = 2.0, level: Level = per_token) -> Method:
    """The method with its policy terms multiplied by w = min(exp(log pi_old - log pi_sampler), cap), detached.

    level: `advantages.correction.per_token` or `per_sequence`. The trainer's log-probabilities are recomputed before
    the first gradient step and take the sampler's place in every ratio. Terms of another name than 'policy', such as
    a KL term, stay as they are.
    """
    weigh: Estimator = TruncatedImportance(cap, level)
    terms = [replace(t, objective=Corrected(t.objective)) if t.name == "policy" else t for t in method.terms]
    return replace(
        method,
        terms=tuple(terms),
        estimator=Chain((weigh, method.estimator)) if method.estimator else weigh,
        settings={**method.settings, "correction_cap": cap, "correction_level": level},
    )


def tis(cap: float = 2.0, level: Level = per_token) -> Method:
    """GRPO with truncated importance weights between trainer and sampler."""
    return truncated_importance(grpo(), cap, level)
