"""Whether a score depends on what is said or on how it is put: accuracy before and after rewriting (reWordBench).

A rewrite is applied to both replies of a pair, and to the prompt where it says so, so that the right ranking stays what
it was. Every comparison is on the pairs to which the rewrite applies, with themselves (Wu et al. 2025, reWordBench,
arXiv:2503.11751; of its rewrites those that need no model; paraphrases can be given as files).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from guerdon.data.rewrites.base import Rewrite, rewritten
from guerdon.evaluation.evaluate import as_dict
from guerdon.evaluation.intervals import Interval, paired_difference, wilson
from guerdon.evaluation.reward_models.base import Candidates, ScoreLists, checked

CHANCE = 0.5


@dataclass(frozen=True)
class Change:
    """What one rewrite does. before, after: accuracy. drop: before less after, in pairs; None for a single pair.

    consistent: share of pairs that are ranked as before (ties: tied as before). moved: mean of the replies' absolute
    change in score. pairs: how many it applies to.
    """

    name: str
    family: str
    keeps: str
    pairs: int
    before: Interval
    after: Interval
    drop: Interval | None
    consistent: Interval
    moved: float

    def as_dict(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "keeps": self.keeps,
            "pairs": self.pairs,
            "before": as_dict(self.before),
            "after": as_dict(self.after),
            "drop": None if self.drop is None else as_dict(self.drop),
            "consistent": as_dict(self.consistent),
            "moved": self.moved,
        }


@dataclass(frozen=True)
class Robustness:
    """drop: over all rewritten pairs together, by pair; families: the same of each family. worst: the rewrite with the
    largest drop. below_chance: how many rewrites leave an accuracy below 1/2. absent: those that applied to no pair.
    """

    changes: Mapping[str, Change]
    drop: Interval | None
    families: Mapping[str, Interval | None]
    absent: Sequence[str] = field(default_factory=tuple)

    @property
    def worst(self) -> str | None:
        return max(self.changes, key=lambda name: _fall(self.changes[name]), default=None)

    @property
    def below_chance(self) -> int:
        return sum(one.after.mean < CHANCE for one in self.changes.values())

    def as_dict(self) -> dict[str, Any]:
        return {
            "drop": None if self.drop is None else as_dict(self.drop),
            "families": {name: None if one is None else as_dict(one) for name, one in self.families.items()},
            "worst": self.worst,
            "below_chance": self.below_chance,
            "absent": list(self.absent),
            "rewrites": {name: one.as_dict() for name, one in self.changes.items()},
        }


def _fall(change: Change) -> float:
    return change.before.mean - change.after.mean


@dataclass(frozen=True)
class Reworded:
    """Pairs in other words, by the index of the pair: what a rewrite makes, or a file of paraphrases."""

    name: str
    family: str
    keeps: str
    items: Mapping[int, Candidates]


def apply(rewrite: Rewrite, items: Sequence[Candidates], seed: int = 0) -> Reworded:
    """The rewrite of every pair that it applies to; equal seeds give equal texts."""
    found = {}
    for number, item in enumerate(items):
        new = rewritten(rewrite, item.prompt, item.replies, seed, number)
        if new is not None:
            found[number] = Candidates(new[0], new[1], item.data)
    return Reworded(rewrite.name, rewrite.family, rewrite.keeps, found)


def given(name: str, items: Sequence[Candidates], others: Sequence[Candidates]) -> Reworded:
    """Paraphrases of the same pairs, row by row. ValueError when they are not as many."""
    if len(items) != len(others):
        raise ValueError(f"{name} has {len(others)} rows and the pairs {len(items)}; expected a paraphrase of each row")
    changed = {i: new for i, (old, new) in enumerate(zip(items, others, strict=True)) if new.replies != old.replies}
    return Reworded(name, "given", "meaning", changed)


def robustness(
    items: Sequence[Candidates],
    score: ScoreLists,
    reworded: Sequence[Reworded],
    before: Sequence[Sequence[float]] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Robustness:
    """items: pairs of (chosen, rejected). before: their scores, where they are known. tell: is told of each rewrite.

    ValueError when no rewrite applies to any pair.
    """
    first = checked(score(items), [2] * len(items)) if before is None else before
    rights: dict[str, dict[str, tuple[float, float]]] = {}
    changes: dict[str, Change] = {}
    for one in reworded:
        if not one.items:
            continue
        if tell is not None:
            tell(one.name)
        numbers = list(one.items)
        after = checked(score([one.items[i] for i in numbers]), [2] * len(numbers))
        changes[one.name], rights[one.name] = _change(one, {i: first[i] for i in numbers}, after)
    if not changes:
        raise ValueError("no rewrite applies to any of the pairs; expected replies of text")
    families: dict[str, list[str]] = {}
    for name, change in changes.items():
        families.setdefault(change.family, []).append(name)
    return Robustness(
        changes,
        _drop([rights[name] for name in changes]),
        {family: _drop([rights[name] for name in names]) for family, names in families.items()},
        [one.name for one in reworded if not one.items],
    )


def _change(
    one: Reworded, before: Mapping[int, Sequence[float]], after: Sequence[Sequence[float]]
) -> tuple[Change, dict[str, tuple[float, float]]]:
    """The change, and whether each pair was right before and after."""
    pairs = list(zip(before.values(), after, strict=True))
    rights = {str(i): (_right(old), _right(new)) for i, (old, new) in zip(before, pairs, strict=True)}
    same = [_sign(old) is not None and _sign(old) == _sign(new) for old, new in pairs]
    moves = [abs(b - a) for old, new in pairs for a, b in zip(old, new, strict=True)]
    known = [move for move in moves if not math.isnan(move)]
    n = len(pairs)
    change = Change(
        one.name,
        one.family,
        one.keeps,
        n,
        wilson(sum(old for old, _ in rights.values()), n),
        wilson(sum(new for _, new in rights.values()), n),
        _drop([rights]),
        wilson(sum(same), n),
        fmean(known) if known else math.nan,
    )
    return change, rights


def _drop(rights: Sequence[Mapping[str, tuple[float, float]]]) -> Interval | None:
    """Over all of them together; the unit is the pair, however many rewrites of it there are."""
    old: dict[str, list[float]] = {}
    new: dict[str, list[float]] = {}
    for found in rights:
        for pair, (before, after) in found.items():
            old.setdefault(pair, []).append(before)
            new.setdefault(pair, []).append(after)
    return paired_difference(new, old) if len(old) > 1 else None


def _right(scores: Sequence[float]) -> float:
    return float(scores[0] > scores[1])


def _sign(scores: Sequence[float]) -> int | None:
    """Which of two is higher; None where one has no score: like nothing else."""
    if any(map(math.isnan, scores)):
        return None
    return (scores[0] > scores[1]) - (scores[0] < scores[1])
