"""Bradley-Terry reward model: the score of a reply, learned from which of two is better.

    L = mean over pairs of -(1 - e) log sigmoid(d - m) - e log sigmoid(-(d - m)) + lambda (r_c + r_r)^2,
    d = r_c - r_r

r is the head's output at the last token of prompt and reply. e is the share of labels taken to be flipped; with a soft
label p, 1 - p.
"""

from __future__ import annotations

from typing import Annotated

from guerdon.losses.reward_model import BradleyTerry
from guerdon.method import Card, Heads, Method, Term
from guerdon.reduce import group_mean

CARD = Card(
    slug="bradley-terry",
    name="Bradley-Terry reward model",
    family="reward",
    paper="Ouyang et al. 2022, Training language models to follow instructions with human feedback, arXiv:2203.02155",
    summary="A scalar head on a language model, trained so that the better of two replies has the higher score.",
)


def bradley_terry(
    margins: bool = False,
    centring: float = 0.0,
    smoothing: float = 0.0,
    soft: Annotated[str | None, "column with the probability that chosen is preferred (none: it is certain)"] = None,
    frozen_trunk: bool = False,
    epochs: int = 1,
    minibatches: int = 1,
) -> Method:
    """The equation is at the top of the file; margins: m is the pair's own `margin`, else 0; centring is lambda."""
    settings = dict(locals())
    loss = BradleyTerry(margins=margins, centring=centring, smoothing=smoothing, soft=soft)
    return Method(
        terms=(Term(loss, group_mean, name="reward_model"),),
        scores=Heads(frozen_trunk=frozen_trunk),
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )
