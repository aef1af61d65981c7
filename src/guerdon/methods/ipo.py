"""IPO: a pair is learned up to a fixed margin of log-ratios, and no further.

    L = mean over pairs of (h - 1 / (2 beta))^2
    h = r_c - r_r

r is the log-ratio log pi / ref of a completion, summed over its tokens (the paper) or averaged (TRL).
"""

from __future__ import annotations

from guerdon.losses.paired import IPO
from guerdon.losses.preference import LEVELS, Aggregate
from guerdon.method import Card, Method, Role, Term
from guerdon.reduce import group_mean

CARD = Card(
    slug="ipo",
    name="IPO",
    family="preference",
    paper="Azar et al. 2024, A general theoretical paradigm to understand learning from human preferences,"
    " arXiv:2310.12036",
    summary="Regresses the difference of log-ratios of a pair on 1 / (2 beta), so that certain labels do not overfit.",
    differs="Log-ratios may be averaged over tokens (`level`), as TRL does; the paper's sum is the default.",
)


def ipo(beta: float = 0.1, level: Aggregate = "sum", epochs: int = 1, minibatches: int = 1) -> Method:
    """The equation is at the top of the file. Every group is two episodes, chosen the one with the higher return.

    beta is the paper's tau: at 0.1 the margin is 5 nats per completion (`level` 'sum') or per token ('mean').
    """
    settings = dict(locals())
    return Method(
        terms=(Term(IPO(beta, LEVELS[level]), group_mean, name="preference"),),
        roles={"ref": Role()},
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )
