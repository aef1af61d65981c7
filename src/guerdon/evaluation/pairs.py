"""How often a model ranks the better of two replies higher: held-out accuracy of reward models and of policies.

Ties count as wrong. A policy ranks by its implicit reward, log pi / pi_ref summed over the reply (Rafailov et al. 2023,
Direct preference optimization).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from guerdon.advantages.segments import paths
from guerdon.collate import collate
from guerdon.evaluation.evaluate import as_dict
from guerdon.evaluation.intervals import Interval, mean_over_tasks, wilson
from guerdon.losses.preference import Level, token_sum
from guerdon.losses.reward_model import at_last
from guerdon.types import Group, Score, Verdict

if TYPE_CHECKING:
    from torch import Tensor

    from guerdon.engines.base import Engine
    from guerdon.rewards.scoring import Fault
    from guerdon.types import Batch

NAME = "ranked"
"""Under which the scores of a ranking are kept in its episodes."""

CHUNK = 64
"""Pairs that are scored at once."""

Rank = Callable[["Batch"], "Tensor"]
"""A score of each sequence: [S]."""


@dataclass(frozen=True)
class Ranking:
    """accuracy: share of pairs whose better reply has the higher score. margin: mean of that difference in score."""

    accuracy: Interval
    margin: Interval
    groups: list[Group]
    faults: Sequence[Fault] = ()

    def as_dict(self) -> dict[str, Any]:
        return {"accuracy": as_dict(self.accuracy), "margin": as_dict(self.margin), "pairs": len(self.groups)}


def rank_pairs(groups: Sequence[Group], rank: Rank) -> Ranking:
    """Groups of two, the better with the higher return, as `Pair.group` makes them."""
    ranked, margins = [], {}
    for begin in range(0, len(groups), CHUNK):
        part = groups[begin : begin + CHUNK]
        batch = collate(part)
        returns, scores = paths(batch).returns.tolist(), rank(batch).tolist()
        for i, group in enumerate(part):
            first, second = 2 * i, 2 * i + 1
            sign = 1.0 if returns[first] > returns[second] else -1.0
            margin = sign * (scores[first] - scores[second])
            margins[str(begin + i)] = [margin]
            ranked.append(_told(group, scores[first : second + 1], margin))
    right = sum(margin > 0 for (margin,) in margins.values())
    return Ranking(wilson(right, len(margins)), mean_over_tasks(margins), ranked)


def _told(group: Group, scores: Sequence[float], margin: float) -> Group:
    verdict = Verdict("right" if margin > 0 else "wrong", f"the better reply scores {margin:+.3g} against the other")
    return [replace(e, scores={NAME: Score(score, verdict=verdict)}) for e, score in zip(group, scores, strict=True)]


def by_head(engine: Engine, head: str = "score") -> Rank:
    """Rank by a reward model's score at the last token."""

    def rank(batch: Batch) -> Tensor:
        return at_last(paths(batch).sequences, engine.forward(batch, (head,))[head], batch.mask)

    return rank


def by_likelihood(policy: Engine, ref: Engine | None, level: Level = token_sum) -> Rank:
    """Rank by log pi / pi_ref of the reply, or by log pi where there is no reference: summed, or as `level` says."""

    def rank(batch: Batch) -> Tensor:
        logp = policy.forward(batch, ("logp",))["logp"]
        if ref is not None:
            logp = logp - ref.forward(batch, ("logp",))["logp"]
        return level(paths(batch), batch, logp)

    return rank
