"""Benchmarks by name, and which one a file is: told by its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.evaluation.reward_models import pairs, prmbench, processbench, rewardbench, rewardbench2, rm_bench
from guerdon.evaluation.reward_models.base import Candidates, Report, ScoreSteps
from guerdon.evaluation.reward_models.raters import Rater
from guerdon.evaluation.reward_models.steps import THRESHOLD
from guerdon.names import nearest
from guerdon.tasks.files import Columns, Numbered

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "prmbench": ("modified_process", "error_steps", "classification"),
    "processbench": ("problem", "steps", "label"),
    "steps": processbench.STEPWISE,
    "rm-bench": ("prompt", "chosen", "rejected", "domain"),
    "rewardbench2": ("prompt", "chosen", "rejected", "subset"),
    "rewardbench": ("prompt", "chosen", "rejected", "subset"),
    "pairs": ("chosen", "rejected"),
}
"""The columns that a benchmark's rows have, the most telling first."""

SAMPLES = "best-of-n"
"""Never told by columns: it has to be named."""

NAMES = (*COLUMNS, SAMPLES)


@dataclass(frozen=True)
class Settings:
    """by: columns to tell pairs apart by. threshold: above which a step is taken for right, or the subset it is chosen
    on."""

    by: Sequence[str] = ()
    threshold: float | str = THRESHOLD


def recognise(stored: Sequence[Numbered], where: str) -> str:
    """The name of the benchmark whose rows these are. ValueError lists what was found and what would be understood."""
    row = next((one.row for one in stored if one.fault is None), None)
    if row is None:
        raise ValueError(f"{where} has no row that can be read; the first fault: {stored[0].fault}")
    for name, columns in COLUMNS.items():
        if all(row.get(column) is not None for column in columns) and _alike(name, row):
            return name
    known = "; ".join(f"{name}: {', '.join(columns)}" for name, columns in COLUMNS.items())
    raise ValueError(
        f"{where} has the columns {sorted(row)}; expected those of a benchmark ({known}), or of samples with "
        f"--bench {SAMPLES}: prompt, completion"
    )


def _alike(name: str, row: Columns) -> bool:
    """Whether the values are what they are in this benchmark, where columns alone do not tell."""
    lists = all(
        isinstance(row.get(c), list) and all(isinstance(x, str) for x in row[c]) for c in ("chosen", "rejected")
    )
    if name in ("rm-bench", "rewardbench2"):
        return lists
    if name == "rewardbench":
        return isinstance(row["chosen"], str) and row["subset"] in rewardbench.SUBSETS
    return not (name == "pairs" and lists and bool(row["chosen"]))


def check_name(name: str) -> str:
    """ValueError when there is no such benchmark."""
    if name not in NAMES:
        raise ValueError(f"there is no benchmark {name!r}{nearest(name, NAMES)}; expected one of {', '.join(NAMES)}")
    return name


def read(name: str, stored: Sequence[Numbered], where: str, **options: Any) -> list[Any]:
    """The rows of a benchmark. BadRow names file, row and column. options: what pairs may be told besides."""
    readers: Mapping[str, Any] = {
        "prmbench": prmbench.read,
        "processbench": processbench.read,
        "steps": processbench.read_stepwise,
        "rm-bench": rm_bench.read,
        "rewardbench2": rewardbench2.read,
        "rewardbench": rewardbench.read,
    }
    if name == "pairs":
        return pairs.read(stored, where, **options)
    return list(readers[name](stored, where))


def evaluate(name: str, rows: Sequence[Any], rater: Rater, settings: Settings) -> Report:
    """The report of a benchmark. ValueError when steps are asked of whoever scores whole replies only."""
    if name in ("processbench", "steps"):
        return processbench.evaluate(rows, _steps(rater), settings.threshold)
    if name == "prmbench":
        threshold = settings.threshold
        if isinstance(threshold, str):
            raise ValueError(f"the threshold of prmbench is {threshold!r}; expected a number, 0 to 1")
        return prmbench.evaluate(rows, _steps(rater), rater.redundancy, threshold)
    if name == "pairs":
        return pairs.evaluate(rows, rater.lists, rater.tokens, settings.by)
    whole: Mapping[str, Any] = {"rm-bench": rm_bench, "rewardbench2": rewardbench2, "rewardbench": rewardbench}
    report: Report = whole[name].evaluate(rows, rater.lists)
    return report


def of_two(name: str, rows: Sequence[Any]) -> list[Candidates]:
    """The pairs of (chosen, rejected) that can be rewritten and compared. ValueError for other benchmarks."""
    if name not in ("pairs", "rewardbench"):
        raise ValueError(f"the rows of {name} are no pairs; rewrites and further models need pairs or rewardbench")
    return [row.item for row in rows]


def _steps(rater: Rater) -> ScoreSteps:
    if rater.steps is None:
        raise ValueError(
            f"{rater.name} scores whole replies; steps need a model with a step head: a run, or its folder"
        )
    return rater.steps
