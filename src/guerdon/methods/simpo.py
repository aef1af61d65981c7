"""SimPO: preference of mean log-probabilities by a margin, without a reference model.

    L = mean over pairs of -log sigmoid(beta (a_c - a_r) - margin)

a is the mean log-probability of a completion's tokens. The paper calls the margin gamma.
"""

from __future__ import annotations

from typing import Annotated

from guerdon.losses.paired import SimPO
from guerdon.method import Card, Method, Term
from guerdon.reduce import group_mean

CARD = Card(
    slug="simpo",
    name="SimPO",
    family="preference",
    paper="Meng et al. 2024, SimPO: simple preference optimization with a reference-free reward, arXiv:2405.14734",
    summary="Raises the mean log-probability of the chosen over the rejected completion by a margin; no reference.",
)


def simpo(
    beta: Annotated[float, "scale of the difference of mean log-probabilities"] = 2.0,
    margin: Annotated[float, "by how much the scaled difference should exceed 0"] = 1.0,
    epochs: int = 1,
    minibatches: int = 1,
) -> Method:
    """The equation is at the top of the file. Every group is two episodes, chosen the one with the higher return.

    The authors use beta 2 to 2.5 and margin / beta 0.3 to 0.5; TRL's defaults are 0.1 and 0.5.
    """
    settings = dict(locals())
    return Method(
        terms=(Term(SimPO(beta, margin), group_mean, name="preference"),),
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )
