"""DPO: learning from pairs without a reward model.

    L = mean over pairs of -(1 - e) log sigmoid(beta h) - e log sigmoid(-beta h)
    h = r_c - r_r

r is the log-ratio log pi / ref of a completion: summed over its tokens, or averaged (`level`); e is `smoothing`.
"""

from __future__ import annotations

from guerdon.losses.preference import DPO, LEVELS, Aggregate
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
    beta: float = 0.1, smoothing: float = 0.0, level: Aggregate = "sum", epochs: int = 1, minibatches: int = 1
) -> Method:
    """The equation is at the top of the file. Every group is two episodes, chosen the one with the higher return.

    level: 'sum' is the paper's; 'mean' is length-normalised (TRL's `sigmoid_norm`), and wants a larger beta.
    smoothing: e in [0, 0.5).
    """
    settings = dict(locals())
    return Method(
        terms=(Term(DPO(beta, smoothing, LEVELS[level]), group_mean, name="preference"),),
        roles={"ref": Role()},
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )
