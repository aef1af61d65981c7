"""Supervised fine-tuning: the likelihood of what somebody else wrote."""

from __future__ import annotations

from guerdon.losses.supervised import NegativeLogLikelihood
from guerdon.method import Card, Method, Term
from guerdon.reduce import Reduce, token_mean

CARD = Card(
    slug="sft",
    name="Supervised fine-tuning",
    family="supervised",
    paper="Ouyang et al. 2022, Training language models to follow instructions with human feedback, arXiv:2203.02155",
    summary="Minimises the negative log-likelihood of demonstrations, on the assistant's tokens only.",
)


def sft(reduce: Reduce = token_mean, epochs: int = 1, minibatches: int = 1) -> Method:
    """L = mean over the masked tokens of -log pi(y_t)."""
    settings = dict(locals())
    return Method(
        terms=(Term(NegativeLogLikelihood(), reduce, name="supervised"),),
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )
