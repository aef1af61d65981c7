"""ORPO: imitation of the chosen completion and a preference of odds in one loss, without a reference model.

    L = mean of NLL(y_c) - beta * mean over pairs of log sigmoid(log odds(y_c) - log odds(y_r))
    odds(y) = p / (1 - p)
    p = exp(a)

a is the mean log-probability of a completion's tokens.
"""

from __future__ import annotations

from typing import Annotated, Literal

from guerdon.losses.paired import Chosen, OddsRatio
from guerdon.losses.supervised import NegativeLogLikelihood
from guerdon.method import Card, Method, Term
from guerdon.reduce import group_mean, sequence_mean, token_mean

CARD = Card(
    slug="orpo",
    name="ORPO",
    family="preference",
    paper="Hong et al. 2024, ORPO: monolithic preference optimization without reference model, arXiv:2403.07691",
    summary="Learns the chosen completion by likelihood, and its odds against the rejected one; no reference.",
    differs="The likelihood is that of the completion alone; `nll` 'all' is TRL's, over prompts too.",
)


def orpo(
    beta: Annotated[float, "weight of the odds ratio beside the likelihood (lambda in the paper)"] = 0.1,
    nll: Annotated[Literal["completion", "all"], "what is imitated: the completion, or prompt and completion"] = (
        "completion"
    ),
    epochs: int = 1,
    minibatches: int = 1,
) -> Method:
    """The equation is at the top of the file. Every group is two episodes, chosen the one with the higher return.

    nll: 'completion' is the mean over pairs of the mean over the chosen completion's tokens; 'all' the mean over all
    tokens of the batch's chosen sequences, prompts included from their second token on, which is what TRL computes.
    """
    settings = dict(locals())
    whole = nll == "all"
    imitation = Term(NegativeLogLikelihood(), token_mean if whole else sequence_mean, mask="chosen", name="supervised")
    return Method(
        terms=(imitation, Term(OddsRatio(), group_mean, beta, mask="reply", name="preference")),
        estimator=Chosen(prompts=whole),
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )
