"""A reward model from K replies in order, best first: the ranking is drawn place by place by softmax of the scores.

    L = mean over prompts of -sum_k log(exp r_(k) / sum_{j >= k} exp r_(j))

With K = 2 it is the Bradley-Terry model. pairs: the mean of its loss over the K (K - 1) / 2 pairs instead, all of which
stay in one batch.
"""

from __future__ import annotations

from typing import Annotated

from guerdon.losses.reward_model import AllPairs, PlackettLuce
from guerdon.method import Card, Heads, Method, Term
from guerdon.reduce import group_mean

CARD = Card(
    slug="ranked-rm",
    name="Plackett-Luce reward model",
    family="reward",
    paper="Zhu et al. 2023, Principled reinforcement learning with human feedback from pairwise or K-wise comparisons, "
    "arXiv:2301.11270",
    summary="A scalar head on a language model, trained on the order of several replies to a prompt.",
)


def ranked_rm(
    pairs: Annotated[bool, "take the mean over all pairs instead of the ranking as a whole"] = False,
    frozen_trunk: bool = False,
    epochs: int = 1,
    minibatches: int = 1,
) -> Method:
    """Rows have `prompt` and `ranked`, two or more replies, the best first."""
    settings = dict(locals())
    return Method(
        terms=(Term(AllPairs() if pairs else PlackettLuce(), group_mean, name="reward_model"),),
        scores=Heads(frozen_trunk=frozen_trunk),
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )
