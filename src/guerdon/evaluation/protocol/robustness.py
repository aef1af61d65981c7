"""Doubts about what measures: does a judge's wording decide, and does a model know the set by heart?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from guerdon.data.probe import Recall
from guerdon.evaluation.intervals import wilson


@dataclass(frozen=True)
class Spread:
    """spread: by model, the largest less the smallest score over the wordings of the judge. flips: pairs of models that
    one wording ranks one way round and another the other way; ties are no flip."""

    spread: Mapping[str, float]
    flips: tuple[tuple[str, str], ...]


def judge_spread(scores: Mapping[str, Mapping[str, float]]) -> Spread:
    """scores: by wording of the judge (paraphrased, reordered, reformatted), the score of each model on the same items.

    ValueError when wordings scored different models, or there is none.
    """
    wordings = list(scores)
    if not wordings:
        raise ValueError("there are no scores; expected at least one wording of the judge")
    models = list(scores[wordings[0]])
    odd = next((name for name in wordings if scores[name].keys() != set(models)), None)
    if odd is not None:
        raise ValueError(f"wording {odd!r} scored {sorted(scores[odd])}; expected the models {sorted(models)}")
    spread = {m: max(scores[w][m] for w in wordings) - min(scores[w][m] for w in wordings) for m in models}
    gaps = {(a, b): [scores[w][a] - scores[w][b] for w in wordings] for a, b in combinations(models, 2)}
    return Spread(spread, tuple(pair for pair, found in gaps.items() if min(found) < 0 < max(found)))


@dataclass(frozen=True)
class Contrast:
    """The partial-prompt probe at one share, on an old set and on a fresh one. suspect: the old set's hidden ends are
    reproduced, or its questions answered unseen, more often than the fresh one's, intervals apart."""

    share: int
    exact: tuple[float, float]
    rouge_l: tuple[float, float]
    right: tuple[float, float] | None
    suspect: bool


def contaminated(old: Sequence[Recall], fresh: Sequence[Recall]) -> list[Contrast]:
    """`data.probe.probe` on both sets, compared. A suspect set tells of memory, not of ability: use it for that alone.

    fresh: from after the model's data was collected, or generated anew. ValueError when their shares differ.
    """
    if [one.share for one in old] != [one.share for one in fresh]:
        raise ValueError(f"shares are {[o.share for o in old]} and {[f.share for f in fresh]}; expected the same")
    return [_contrast(a, b) for a, b in zip(old, fresh, strict=True)]


def _contrast(old: Recall, fresh: Recall) -> Contrast:
    right = None if old.right is None or fresh.right is None else (old.right, fresh.right)
    rates = [(old.exact, fresh.exact), *([right] if right else [])]
    suspect = any(wilson(a * old.n, old.n).low > wilson(b * fresh.n, fresh.n).high for a, b in rates)
    return Contrast(old.share, (old.exact, fresh.exact), (old.rouge_l, fresh.rouge_l), right, suspect)
