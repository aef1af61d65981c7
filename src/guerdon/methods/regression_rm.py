"""A reward model from absolute scores: each head predicts one column of numbers that people gave a reply.

L = sum over columns of mean over replies of (r - y)^2 / 2
"""

from __future__ import annotations

from typing import Annotated

from guerdon.losses.reward_model import SquaredError
from guerdon.method import Card, Heads, Method, Term
from guerdon.reduce import sequence_mean

CARD = Card(
    slug="regression-rm",
    name="Regression reward model",
    family="reward",
    paper="Wang et al. 2023, HelpSteer: Multi-attribute helpfulness dataset for SteerLM, arXiv:2311.09528",
    summary="One head per attribute on a language model, trained on the scores that people gave single replies.",
    differs="Each attribute is a head of its own; there it is text that a language model generates.",
)


def regression_rm(
    columns: Annotated[str, "columns of numbers to predict, joined by commas; each is a head of its name"] = "score",
    frozen_trunk: bool = False,
    epochs: int = 1,
    minibatches: int = 1,
) -> Method:
    """Rows have `prompt`, `completion` and a number in each of the columns."""
    settings = dict(locals())
    names = tuple(name.strip() for name in columns.split(","))
    return Method(
        terms=tuple(Term(SquaredError(name, target=name), sequence_mean, name=name) for name in names),
        scores=Heads(names, frozen_trunk=frozen_trunk),
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )
