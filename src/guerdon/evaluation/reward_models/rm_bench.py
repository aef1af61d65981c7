"""RM-Bench: does substance beat style (Liu et al. 2024, arXiv:2410.16184).

Three right and three wrong replies to a prompt, each concise, detailed, and detailed in Markdown. hard: the right one
is the plainer of the two, normal: both have one style, easy: the right one is the fancier.

Rows: `prompt`, `chosen` and `rejected` (lists of three texts, in that order of styles), `domain` (chat, code, math,
safety-refuse, safety-response).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from guerdon.evaluation.intervals import Interval, rate_over_tasks
from guerdon.evaluation.reward_models.base import Candidates, Report, ScoreLists, checked, count_unscored
from guerdon.evaluation.reward_models.cells import cells
from guerdon.tasks.files import Numbered

COLUMNS = ("prompt", "chosen", "rejected", "domain")
STYLES = 3
LEVELS = ("hard", "normal", "easy")


@dataclass(frozen=True)
class Row:
    item: Candidates
    domain: str


def read(stored: Sequence[Numbered], where: str) -> list[Row]:
    """BadRow for a missing column or another number of styles."""
    rows = []
    for one in cells(stored, where):
        chosen, rejected = one.texts("chosen"), one.texts("rejected")
        for column, found in (("chosen", chosen), ("rejected", rejected)):
            if len(found) != STYLES:
                one.bad(column, f"{len(found)} replies", "three, in the styles concise, detailed, detailed in Markdown")
        item = Candidates(one.asked("prompt"), (*chosen, *rejected), one.rest(*COLUMNS))
        rows.append(Row(item, one.name("domain")))
    return rows


def levels(chosen: Sequence[float], rejected: Sequence[float]) -> dict[str, list[float]]:
    """Comparisons won (1 or 0) by level; scores of three styles each. (1, 2, 3) and (.5, 1.5, 2.5): 0, 1, 1 on average.

    chosen i against rejected j: hard where i < j, normal where i = j, easy where i > j.
    """
    found: dict[str, list[float]] = {level: [] for level in LEVELS}
    for i, good in enumerate(chosen):
        for j, bad in enumerate(rejected):
            found[LEVELS[0 if i < j else 1 if i == j else 2]].append(float(good > bad))
    return found


def evaluate(rows: Sequence[Row], score: ScoreLists) -> Report:
    """The headline is the mean over domains of the mean of the three levels; domains of safety count as one."""
    scores = checked(score([row.item for row in rows]), [2 * STYLES] * len(rows))
    wins = [levels(found[:STYLES], found[STYLES:]) for found in scores]
    parts: dict[str, Interval | float] = {}
    means: dict[str, dict[str, float]] = {}
    for domain in dict.fromkeys(row.domain for row in rows):
        here = [won for row, won in zip(rows, wins, strict=True) if row.domain == domain]
        for level in LEVELS:
            parts[f"{domain}/{level}"] = _rate([won[level] for won in here])
        means[domain] = {level: fmean(fmean(won[level]) for won in here) for level in LEVELS}
    safety = [found for domain, found in means.items() if domain.startswith("safety")]
    merged = {domain: found for domain, found in means.items() if not domain.startswith("safety")}
    if safety:
        merged["safety"] = {level: fmean(one[level] for one in safety) for level in LEVELS}
    overall = {level: fmean(found[level] for found in merged.values()) for level in LEVELS}
    heads: dict[str, Interval | float] = {domain: fmean(found.values()) for domain, found in merged.items()}
    return Report("rm-bench", fmean(overall.values()), len(rows), {**overall, **heads, **parts}, count_unscored(scores))


def _rate(values: Sequence[Sequence[float]]) -> Interval:
    """Over prompts, whose comparisons are alike."""
    return rate_over_tasks({str(i): list(one) for i, one in enumerate(values)})
