"""How well a reward model tells what is known of held-out rows that are no pairs: steps, absolute scores, rankings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from guerdon.advantages.segments import paths
from guerdon.collate import collate
from guerdon.data.columns import column
from guerdon.data.steps import LABEL
from guerdon.evaluation.evaluate import as_dict
from guerdon.evaluation.intervals import Interval, rate_over_tasks, wilson
from guerdon.evaluation.pairs import NAME
from guerdon.losses.correlation import pearson
from guerdon.losses.reward_model import at_last
from guerdon.marks import marked
from guerdon.types import EMPTY, Group, Score, Verdict

if TYPE_CHECKING:
    from guerdon.engines.base import Engine
    from guerdon.rewards.scoring import Fault

CHUNK = 64
"""Groups that are scored at once."""


@dataclass(frozen=True)
class Fit:
    """accuracy: a share, of what says the function that found it. numbers: what else is known, by name."""

    accuracy: Interval
    groups: list[Group]
    numbers: Mapping[str, float] = EMPTY
    faults: Sequence[Fault] = ()

    def as_dict(self) -> dict[str, Any]:
        return {"accuracy": as_dict(self.accuracy), **self.numbers}


FitOf = Callable[[Sequence[Group], "Engine", Sequence[str]], Fit]
"""(held-out groups, a reward model, its heads) -> how well it tells."""


def steps_fit(groups: Sequence[Group], engine: Engine, heads: Sequence[str]) -> Fit:
    """accuracy: the share of steps whose probability is on the side of 0.5 that their label is on, 0.5 being
    wrong; the mean over replies. numbers: `cross_entropy`, its mean over steps, in nats."""
    told: list[Group] = []
    shares, losses = {}, []
    for begin in range(0, len(groups), CHUNK):
        part = groups[begin : begin + CHUNK]
        batch = collate(part)
        scores, label = engine.forward(batch, (heads[0],))[heads[0]][batch.mask], batch.stream(LABEL)[batch.mask]
        losses += binary_cross_entropy_with_logits(scores, label, reduction="none").tolist()
        right = torch.where(label > 0.5, scores > 0, scores < 0).float()
        of, values = batch.episode[batch.mask], scores.sigmoid()
        for place, episode in enumerate(one for group in part for one in group):
            mine = right[of == place]
            shares[str(len(told))] = mine.tolist()
            verdict = Verdict("right" if bool(mine.all()) else "wrong", f"{int(mine.sum())} of {len(mine)} steps told")
            value = float(values[of == place].min())
            told.append([replace(episode, scores={NAME: Score(value, verdict=verdict)})])
    return Fit(rate_over_tasks(shares), told, {"cross_entropy": fmean(losses)})


def ranking_fit(groups: Sequence[Group], engine: Engine, heads: Sequence[str]) -> Fit:
    """accuracy: the share of a group's untied pairs in which the better reply scores higher; the mean over groups."""
    told: list[Group] = []
    shares = {}
    for group, returns, scores in _scored(groups, engine, heads[0]):
        pairs = [(i, j) for i, j in combinations(range(len(group)), 2) if returns[i] != returns[j]]
        right = [float((scores[i] - scores[j]) * (returns[i] - returns[j]) > 0) for i, j in pairs]
        shares[str(len(told))] = right
        verdict = Verdict("right" if all(right) else "wrong", f"{int(sum(right))} of {len(right)} pairs in order")
        told.append([replace(e, scores={NAME: Score(s, verdict=verdict)}) for e, s in zip(group, scores, strict=True)])
    return Fit(rate_over_tasks(shares), told)


def scores_fit(groups: Sequence[Group], engine: Engine, heads: Sequence[str]) -> Fit:
    """accuracy: of each two rows in a row, in the order of the file, the share that is scored in the right order by the
    first head; pairs of equal targets are left out. numbers: `mse/HEAD` and `correlation/HEAD` with its column."""
    batch = collate(list(groups))
    found = paths(batch)
    out = engine.forward(batch, heads)
    numbers, scores = {}, {}
    for head in heads:
        scores[head] = at_last(found.sequences, out[head], batch.mask).double()
        target = marked(found, batch, column(head))
        numbers[f"mse/{head}"] = float((scores[head] - target).square().mean())
        numbers[f"correlation/{head}"] = float(pearson(scores[head], target))
    first, truth = scores[heads[0]].tolist(), marked(found, batch, column(heads[0])).tolist()
    pairs = [i for i in range(0, len(first) - 1, 2) if truth[i] != truth[i + 1]]
    right = [(first[i] - first[i + 1]) * (truth[i] - truth[i + 1]) > 0 for i in pairs]
    if not right:
        raise ValueError("held-out rows all have the same score; expected some to differ")
    told = [[replace(group[0], scores={NAME: Score(one)})] for group, one in zip(groups, first, strict=True)]
    return Fit(wilson(sum(right), len(right)), told, numbers)


def _scored(groups: Sequence[Group], engine: Engine, head: str) -> list[tuple[Group, list[float], list[float]]]:
    """Each group with its episodes' returns and scores."""
    told: list[tuple[Group, list[float], list[float]]] = []
    for begin in range(0, len(groups), CHUNK):
        part = list(groups[begin : begin + CHUNK])
        batch = collate(part)
        found = paths(batch)
        scores = at_last(found.sequences, engine.forward(batch, (head,))[head], batch.mask)
        place = 0
        for group in part:
            mine = slice(place, place + len(group))
            told.append((group, found.returns[mine].tolist(), scores[mine].tolist()))
            place += len(group)
    return told
