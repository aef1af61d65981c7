"""Online DPO: the policy's own completions, ranked by any reward, make the pairs that DPO learns from.

    L = mean over prompts of -(1 - e) log sigmoid(beta h) - e log sigmoid(-beta h)
    h = r_c - r_r

Of n completions of a prompt y_c is the one with the highest and y_r the one with the lowest reward (or two at random);
r is the log-ratio log pi / ref of a completion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import torch

from guerdon.advantages.group import TOLERANCE
from guerdon.advantages.segments import paths
from guerdon.collate import collate
from guerdon.losses.preference import DPO, LEVELS, Aggregate, direction
from guerdon.method import Card, Method, Role, Term
from guerdon.reduce import group_mean
from guerdon.rollouts.base import derive
from guerdon.types import EMPTY, Batch, Group

CARD = Card(
    slug="online-dpo",
    name="Online DPO",
    family="preference",
    paper="Guo et al. 2024, Direct language model alignment from online AI feedback, arXiv:2402.04792",
    summary="DPO on pairs that the policy samples itself, the better told by any reward, judge or reward model.",
    differs="Of more than two completions the best and the worst make the pair; prompts whose completions tie are"
    " dropped and others drawn.",
)

Choice = Literal["extremes", "random"]


def online_dpo(
    beta: float = 0.1,
    smoothing: float = 0.0,
    level: Aggregate = "sum",
    pair: Annotated[Choice, "which two of a group: the best and the worst, or any two that differ"] = "extremes",
    refresh: Annotated[int, "updates after which the reference takes over the policy's weights; 0: never"] = 0,
    epochs: int = 1,
    minibatches: int = 1,
) -> Method:
    """The equation is at the top of the file. smoothing: e in [0, 0.5). level: the sum over tokens is the paper's.

    refresh makes it iterative DPO: the reference is the policy of the last round.
    """
    settings = dict(locals())
    return Method(
        terms=(Term(DPO(beta, smoothing, LEVELS[level]), group_mean, name="preference"),),
        estimator=Better(),
        filters=(TwoOf(pair),),
        roles={"ref": Role(refresh=refresh)},
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )


@dataclass(frozen=True)
class Better:
    """The advantage of each action: +1 in the better completion of a pair, -1 in the worse, 0 in both of a tie."""

    needs = ()
    min_group = 2

    def __call__(self, batch: Batch) -> Batch:
        found = paths(batch)
        return batch.put(advantage=found.spread(direction(found), batch))


@dataclass(frozen=True)
class TwoOf:
    """Two completions of a group whose returns differ, the better first; None where all tie.

    Of several with the same return the first is taken. 'random': any two that differ, drawn by the group's tokens, so
    that the same samples give the same pair. A group has one path per episode.
    """

    pair: Choice = "extremes"
    weights: Mapping[str, float] = EMPTY

    def __call__(self, group: Group) -> Group | None:
        returns = paths(collate([group], self.weights)).returns
        if len(returns) != len(group):
            raise ValueError(f"{group[0].task.id}: {len(returns)} paths in {len(group)} episodes; expected one each")
        slack = 2 * TOLERANCE * max(1.0, float(returns.abs().max()))
        if float(returns.max() - returns.min()) <= slack:
            return None
        best, worst = int(returns.argmax()), int(returns.argmin())
        if self.pair == "random":
            best, worst = _any_two(group, returns, slack)
        return [group[best], group[worst]]


def _any_two(group: Group, returns: torch.Tensor, slack: float) -> tuple[int, int]:
    above = returns[:, None] - returns[None, :] > slack  # [n, n] better, worse
    pairs = above.nonzero().tolist()
    said = [int(token) for episode in group for span in episode.spans for token in span.tokens]
    draw = np.random.default_rng(derive("two of", group[0].task.id, *said))
    better, worse = pairs[int(draw.integers(len(pairs)))]
    return better, worse
