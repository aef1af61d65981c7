"""WARM: several reward models of one start, averaged into one.

    L = mean over pairs of -(1 - e) log sigmoid(d - m) - e log sigmoid(-(d - m)),  d = r_c - r_r    (each member)
    phi = sum_m lambda_m phi_m,  lambda on the simplex                                             (the reward)

Members start from the same trunk and the same head, best one that was fitted with the trunk frozen, and differ in the
order of the data, the learning rate and the number of steps:

    guerdon train bradley_terry --model FOLDER --data pairs.jsonl --frozen_trunk true --out probe
    guerdon train warm --model probe/model --data pairs.jsonl --seed 1 --lr 1e-5 --out one
    guerdon train warm --model probe/model --data pairs.jsonl --seed 2 --lr 5e-6 --out two
    guerdon model average one two --out merged
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from guerdon.losses.reward_model import BradleyTerry
from guerdon.method import Card, Heads, Method, Term
from guerdon.models.soup import RELATED, State, average
from guerdon.reduce import group_mean

CARD = Card(
    slug="warm",
    name="WARM",
    family="reward",
    paper="Ramé et al. 2024, WARM: On the benefits of weight averaged reward models, arXiv:2401.12187",
    summary="Reward models of one start, trained with different settings, whose weights are averaged into one.",
    differs="Dropout is off in training here, so that members differ in seed, learning rate and steps alone.",
)


def warm(margins: bool = False, centring: float = 0.0, smoothing: float = 0.0, epochs: int = 1) -> Method:
    """One member; `guerdon model average` makes one of them. The equation is at the top of the file."""
    settings = dict(locals())
    loss = BradleyTerry(margins=margins, centring=centring, smoothing=smoothing)
    return Method(
        terms=(Term(loss, group_mean, name="reward_model"),), scores=Heads(), epochs=epochs, settings=settings
    )


@dataclass(frozen=True)
class Between:
    """A model on the straight line between two. share: of the second, 0 to 1. accuracy: of that model. line: what the
    two accuracies give in that proportion, which a pair of models that can be averaged does not fall below."""

    share: float
    accuracy: float
    line: float


def connectivity(
    one: State, other: State, accuracy: Callable[[State], float], points: int = 5, related: float = RELATED
) -> list[Between]:
    """How good the models between two are: linear mode connectivity, at evenly spaced points, both ends included.

    related: as in `average`.
    """
    if points < 2:
        raise ValueError(f"points is {points}; expected at least 2, the two models themselves")
    shares = [i / (points - 1) for i in range(points)]
    found = [accuracy(average([one, other], [1 - share, share], related)) for share in shares]
    return [
        Between(share, value, (1 - share) * found[0] + share * found[-1])
        for share, value in zip(shares, found, strict=True)
    ]


def memorised(margins: Sequence[float], flipped: Sequence[bool]) -> float:
    """Share of the pairs with a wrong label that a model agrees with: 0 where it sees through all, 1 where it learned
    them by heart. margins: score of the reply that the label prefers, minus the other's."""
    agreed = [margin > 0 for margin, wrong in zip(margins, flipped, strict=True) if wrong]
    if not agreed:
        raise ValueError(f"none of {len(margins)} pairs has a wrong label; expected some to look at")
    return sum(agreed) / len(agreed)
