"""DPO: learning from pairs without a reward model."""

from __future__ import annotations

from guerdon.losses.preference import DPO, Level, token_sum
from guerdon.method import Card, Method, Role, Term
from guerdon.reduce import group_mean

CARD = Card(
    slug="dpo",
    name="DPO",
    family="preference",
    paper="Rafailov et al. 2023, Direct preference optimization, arXiv:2305.18290",
    summary="Raises the log-probability of the chosen over the rejected completion, relative to a frozen reference.",
    differs="Label smoothing is the conservative form of Mitchell 2023; off by default.",
)


def dpo(
    beta: float = 0.1, smoothing: float = 0.0, level: Level = token_sum, epochs: int = 1, minibatches: int = 1
) -> Method:
    """L = mean over pairs of -(1 - e) log sigmoid(beta h) - e log sigmoid(-beta h), e = smoothing.

    h = log(pi / ref)(chosen) - log(pi / ref)(rejected), summed over tokens, or averaged with
    `level=losses.preference.token_average`. Every group is two episodes, chosen the one with the higher return.
    """
    settings = dict(locals())
    return Method(
        terms=(Term(DPO(beta, smoothing, level), group_mean, name="preference"),),
        roles={"ref": Role()},
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )
