"""How sure a model is of what it says, from its own probabilities: no answer, judge or verifier."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import fmean

Ids = Sequence[int]


def disparity(emitted: float, second: float) -> float:
    """p(the token that was written) - p(the second likeliest token), in [-1, 1] (Wang & Zhou 2024, Chain-of-thought
    reasoning without prompting). 0 under a uniform distribution, 1 where there was no doubt."""
    return emitted - second


def answer_span(text: Ids, answer: Ids, ignored: Collection[int] = (), last: bool = False) -> list[int]:
    """Places in `text` of the longest run of tokens that `answer` has too; empty when they share none.

    ignored: ids that are taken out of both first. Of several runs of that length the first, or the `last`.
    [7, 8, 9, 8, 9] with [8, 9]: [1, 2]; the last: [3, 4].
    """
    places = [i for i, token in enumerate(text) if token not in ignored]
    wanted = [token for token in answer if token not in ignored]
    best = end = 0
    before = [0] * (len(wanted) + 1)  # length of the run that ends at the token before, by its place in the answer
    for i, place in enumerate(places):
        now = [0] * (len(wanted) + 1)
        for j, token in enumerate(wanted, 1):
            if token == text[place]:
                now[j] = before[j - 1] + 1
        longest = max(now)
        if longest > best or (last and longest == best > 0):
            best, end = longest, i + 1
        before = now
    return places[end - best : end]


def span_confidence(disparities: Sequence[float], span: Sequence[int]) -> float:
    """Mean of the disparities at these places; 0 where there are none. (.85, .3) at both: .575"""
    return fmean(disparities[i] for i in span) if span else 0.0
