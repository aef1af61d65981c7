"""Two models on the same items under the same protocol: differences, and accuracy where both attempt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean

from guerdon.evaluation.intervals import Interval, paired_difference
from guerdon.evaluation.protocol.base import Decode, Evaluated, same_protocol
from guerdon.evaluation.protocol.metrics import BINS, ece, figures


@dataclass(frozen=True)
class Shared:
    """Both models on the decodes that both attempted, n of them, paired by item and number. nan where there are none.

    ECE of two models is comparable here only: on what each attempted they answer different items.
    """

    n: int
    first: float
    second: float
    first_ece: dict[int, float]
    second_ece: dict[int, float]


def shared(first: Evaluated, second: Evaluated) -> Shared:
    """A attempts items 1, 2, 3 and is right on 1, 2; B attempts 2, 3, 4 and is right on 3, 4: 0.5 and 0.5 on 2, 3."""
    same_protocol(first, second)
    a, b = _by_place(first), _by_place(second)
    both = [place for place in a if a[place].attempted and place in b and b[place].attempted]
    mine, theirs = [a[place] for place in both], [b[place] for place in both]
    return Shared(
        len(both),
        fmean(one.right for one in mine) if both else math.nan,
        fmean(one.right for one in theirs) if both else math.nan,
        {bins: ece(mine, bins) for bins in BINS},
        {bins: ece(theirs, bins) for bins in BINS},
    )


def deltas(first: Evaluated, second: Evaluated) -> dict[str, float]:
    """second - first in every figure that both have. Exactly 0 throughout for one model evaluated twice."""
    same_protocol(first, second)
    a, b = figures(first), figures(second)
    return {name: b[name] - a[name] for name in a if name in b}


def accuracy_difference(first: Evaluated, second: Evaluated) -> Interval:
    """avg@m of the second less that of the first, item by item, with its interval over items."""
    same_protocol(first, second)
    a, b = (
        {item: [float(d.right) for d in decodes] for item, decodes in one.by_item().items()} for one in (first, second)
    )
    return paired_difference(a, b)


def _by_place(found: Evaluated) -> dict[tuple[str, int], Decode]:
    return {(one.item, one.number): one for one in found.decodes}
