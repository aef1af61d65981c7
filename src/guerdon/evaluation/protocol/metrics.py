"""Numbers of one model, computed from its decodes alone. What is undefined is nan, never 0."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from guerdon.evaluation.calibration import calibration
from guerdon.evaluation.intervals import Interval, rate_over_tasks
from guerdon.evaluation.pass_at_k import pass_at_k, pass_at_k_over_tasks
from guerdon.evaluation.protocol.base import Decode, Evaluated

BINS = (10, 15)
"""Bins of the expected calibration error: nobody says how many, so both are told."""


@dataclass(frozen=True)
class Average:
    """avg@m over S seeds (runs of training), with standard errors. items: of the mean over items, had other items been
    asked. seeds: had other seeds been trained; nan for one. both: of both together, by clustering in two ways (Cameron,
    Gelbach & Miller 2011, Journal of Business & Economic Statistics 29)."""

    mean: float
    items: float
    seeds: float
    both: float


def avg_at_m(runs: Sequence[Evaluated]) -> Average:
    """Mean of right decodes, over the seeds of one arm on the same items. ValueError when their items differ."""
    cells = [_shares(one) for one in runs]
    if any(one.keys() != cells[0].keys() for one in cells):
        raise ValueError("seeds were evaluated on different items; expected the same")
    names = list(cells[0])
    by_item = [fmean(cell[name] for cell in cells) for name in names]
    by_seed = [fmean(cell.values()) for cell in cells]
    items, seeds = _error(by_item), _error(by_seed)
    if len(runs) < 2:
        return Average(fmean(by_item), items, seeds, items)
    alone = _error([value for cell in cells for value in cell.values()])
    largest = max(_squared(items), _squared(seeds))
    both = math.sqrt(max(largest, _squared(items) + _squared(seeds) - _squared(alone)))
    return Average(fmean(by_item), items, seeds, both)


def _squared(error: float) -> float:
    return 0.0 if math.isnan(error) else error * error


def _error(values: Sequence[float]) -> float:
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def _shares(found: Evaluated) -> dict[str, float]:
    return {item: fmean(float(one.right) for one in decodes) for item, decodes in found.by_item().items()}


def accuracy(found: Evaluated) -> Interval:
    """avg@m of one model with the interval over items."""
    return rate_over_tasks({item: [float(one.right) for one in ds] for item, ds in found.by_item().items()})


def pass_at(found: Evaluated, k: int) -> Interval:
    """pass@k, the unbiased estimate. ValueError for k > m."""
    counts = {item: (len(decodes), sum(one.right for one in decodes)) for item, decodes in found.by_item().items()}
    return pass_at_k_over_tasks(counts, k)


def maj_at(found: Evaluated, k: int) -> float:
    """maj@k: how often the commonest answer of k decodes is right, over all whole blocks of k in order.

    ValueError for k > m.
    """
    return fmean(maj_of_item(decodes, k) for decodes in found.by_item().values())


def maj_of_item(decodes: Sequence[Decode], k: int) -> float:
    """maj@k of one item: the mean over its blocks of k. Answers that tie share the credit: one right of three is 1/3.

    Who does not attempt has no vote; a block without a vote is worth 0. An answer is right in the share of its decodes
    that are.
    """
    if not 1 <= k <= len(decodes):
        raise ValueError(f"maj@{k} of {len(decodes)} decodes; expected 1 <= k <= {len(decodes)}")
    blocks = [decodes[i : i + k] for i in range(0, len(decodes) - k + 1, k)]
    return fmean(_vote([one for one in block if one.attempted]) for block in blocks)


def _vote(cast: Sequence[Decode]) -> float:
    votes = Counter(one.answer for one in cast)
    if not votes:
        return 0.0
    first = [answer for answer, number in votes.items() if number == max(votes.values())]
    return fmean(fmean(float(one.right) for one in cast if one.answer == answer) for answer in first)


@dataclass(frozen=True)
class Point:
    """What k decodes per item give: tokens, the mean number spent on an item, and pass@k and maj@k for them."""

    k: int
    tokens: float
    pass_at_k: float
    maj_at_k: float


def saturation(found: Evaluated) -> list[Point]:
    """Points for k = 1, 2, 4, ... up to m, and m itself. At k = 1 both are avg@m."""
    items = found.by_item()
    m = len(next(iter(items.values())))
    ks = sorted({1 << i for i in range(m.bit_length()) if 1 << i <= m} | {m})
    each = fmean(one.tokens for decodes in items.values() for one in decodes)
    right = [sum(one.right for one in decodes) for decodes in items.values()]
    return [Point(k, k * each, fmean(pass_at_k(m, c, k) for c in right), maj_at(found, k)) for k in ks]


@dataclass(frozen=True)
class Tax:
    """What training may have cost beside accuracy. Shares are of all decodes unless said otherwise.

    accuracy: of all items, answerable or not. accuracy_attempted: of attempted decodes. ece: by number of bins, over
    attempted decodes that state a confidence, `stated` of them. refusal_quality: share refused of unanswerable items
    less that of answerable ones. length: tokens per decode.
    """

    not_attempted: int
    attempt_rate: float
    accuracy: float
    accuracy_attempted: float
    ece: dict[int, float]
    stated: int
    refused: float
    refusal_quality: float
    length: float
    truncated: float


def tax(found: Evaluated) -> Tax:
    """The side effects of one model; ValueError without a decode."""
    decodes = list(found.decodes)
    if not decodes:
        raise ValueError("there are no decodes")
    tried = [one for one in decodes if one.attempted]
    return Tax(
        not_attempted=len(decodes) - len(tried),
        attempt_rate=len(tried) / len(decodes),
        accuracy=fmean(one.right for one in decodes),
        accuracy_attempted=_mean([float(one.right) for one in tried]),
        ece={bins: ece(tried, bins) for bins in BINS},
        stated=sum(one.confidence is not None for one in tried),
        refused=fmean(one.refused for one in decodes),
        refusal_quality=_refused(decodes, answerable=False) - _refused(decodes, answerable=True),
        length=fmean(one.tokens for one in decodes),
        truncated=fmean(one.truncated for one in decodes),
    )


def ece(decodes: Sequence[Decode], bins: int = 10) -> float:
    """Expected calibration error of the attempted decodes that state a confidence; nan when none does."""
    told = [(one.confidence, float(one.right)) for one in decodes if one.attempted and one.confidence is not None]
    return calibration([c for c, _ in told], [right for _, right in told], bins).error if told else math.nan


def _refused(decodes: Sequence[Decode], answerable: bool) -> float:
    return _mean([float(one.refused) for one in decodes if one.answerable is answerable])


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else math.nan


def diversity(found: Evaluated) -> tuple[float, float]:
    """(distinct texts, distinct right answers) among the m decodes of an item, the mean over items."""
    items = found.by_item().values()
    texts = fmean(len({one.text for one in decodes}) for decodes in items)
    return texts, fmean(len({one.answer for one in decodes if one.right}) for decodes in items)


def figures(found: Evaluated) -> dict[str, float]:
    """The numbers that are shown of an evaluation, by name; what is undefined is left out."""
    m = found.protocol.decodes
    paid, (texts, solutions) = tax(found), diversity(found)
    entropies = [one.entropy for one in found.decodes if one.entropy is not None]
    shown = {
        "accuracy": paid.accuracy,
        f"pass@{m}": pass_at(found, m).mean,
        f"maj@{m}": maj_at(found, m),
        "distinct right": solutions,
        "distinct": texts,
        "length": paid.length,
        "entropy": _mean(entropies),
        "truncated": paid.truncated,
        "attempted": paid.attempt_rate,
        "accuracy attempted": paid.accuracy_attempted,
        "refused": paid.refused if paid.refused else math.nan,
        "refusal quality": paid.refusal_quality,
        **{f"ECE, {bins} bins": value for bins, value in paid.ece.items()},
    }
    return {name: value for name, value in shown.items() if not math.isnan(value)}


def as_dict(found: Evaluated) -> dict[str, Any]:
    """`figures` with the interval of the accuracy over items and the saturation curve, as plain data."""
    one = accuracy(found)
    curve = [{"k": p.k, "tokens": p.tokens, "pass": p.pass_at_k, "maj": p.maj_at_k} for p in saturation(found)]
    return {
        "figures": figures(found),
        "accuracy": {"mean": one.mean, "low": one.low, "high": one.high, "n": one.n},
        "saturation": curve,
        "faults": len(found.faults),
    }
