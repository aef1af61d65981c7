"""The sets that `guerdon data make` makes: one function each, whose keyword arguments are the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from guerdon.synthetic import requests as english
from guerdon.synthetic import sums as characters
from guerdon.synthetic.domain import Domain
from guerdon.synthetic.labels import Labellers, Labels, bayes_accuracy, order_accuracy
from guerdon.synthetic.rows import Part, Row, Stream, Table, preferences, scores, solutions, verdicts

Layout = Literal["preference", "unpaired-preference", "regression"]

_Rows = Annotated[int, "rows to train on"]
_Heldout = Annotated[int, "held-out rows, of other prompts"]
_Seed = Annotated[int, "equal seeds give equal files"]
_Layout = Annotated[Layout, "what a row is"]
_Temperature = Annotated[float, "noise of the labellers, in units of quality (Bradley-Terry)"]
_Flip = Annotated[float, "share of labels turned round, 0 to 0.5"]
_LengthBias = Annotated[float, "how much labellers like length: quality that one unit of it is worth to them"]
_Ties = Annotated[float, "how readily labellers call a tie (Davidson); such pairs are left out"]
_MinGap = Annotated[float, "least difference in quality between the replies of a pair"]
_ScoreNoise = Annotated[float | None, "spread of the noise on absolute scores (none: pairs have no scores)"]


@dataclass(frozen=True)
class Made:
    """A set: rows to train on, held-out ones, and what is known of the held-out labels (`report`)."""

    train: list[Row]
    heldout: list[Row]
    report: dict[str, Any]


def requests(
    rows: _Rows = 1000,
    heldout: _Heldout = 500,
    seed: _Seed = 0,
    layout: _Layout = "preference",
    temperature: _Temperature = 0.5,
    flip: _Flip = 0.0,
    length_bias: _LengthBias = 0.0,
    length_link: Annotated[float, "how length goes with quality, -1 to 1"] = 0.0,
    cycle: Annotated[float, "strength of a preference in circles over how a reply opens"] = 0.0,
    minority: Annotated[float, "share of labels by a second group, who like no courtesy, 0 to below 1"] = 0.0,
    minority_temperature: Annotated[float | None, "their noise (none: as the others')"] = None,
    ties: _Ties = 0.0,
    min_gap: _MinGap = 0.5,
    score_noise: _ScoreNoise = None,
) -> Made:
    """Requests in English and replies of 16 to 28 words, for policies that read language; gold: `gold:requests`.

    Length is in tens of words.
    """
    if not 0 <= minority < 1:
        raise ValueError(f"minority is {minority}; expected 0 to below 1")
    groups = [Labellers(1 - minority, temperature, flip)]
    if minority:
        other = temperature if minority_temperature is None else minority_temperature
        groups.append(Labellers(minority, other, flip))
    labels = Labels(tuple(groups), length_bias, cycle, ties)
    return _made(english.domain(length_link, len(groups)), labels, layout, rows, heldout, seed, min_gap, score_noise)


def sums(
    rows: _Rows = 200,
    heldout: _Heldout = 500,
    seed: _Seed = 0,
    layout: _Layout = "preference",
    temperature: _Temperature = 0.5,
    flip: _Flip = 0.0,
    length_bias: _LengthBias = 0.0,
    ties: _Ties = 0.0,
    min_gap: _MinGap = 0.0,
    score_noise: _ScoreNoise = None,
) -> Made:
    """Sums such as '12+7=' in characters, prompts of `arithmetic`, for the tiny policy; gold: `gold:sums`.

    Length is in characters.
    """
    labels = Labels((Labellers(1.0, temperature, flip),), length_bias, ties=ties)
    return _made(characters.DOMAIN, labels, layout, rows, heldout, seed, min_gap, score_noise)


def steps(
    rows: _Rows = 1000,
    heldout: _Heldout = 200,
    seed: _Seed = 0,
    per_prompt: Annotated[int, "solutions of each prompt, in a row"] = 1,
    wrong: Annotated[float, "share of solutions with a wrong step"] = 0.5,
    lucky: Annotated[float, "share of those whose end is right all the same"] = 0.0,
    flip: Annotated[float, "share of step labels turned round, 0 to 0.5"] = 0.0,
) -> Made:
    """Sums of three to five numbers, worked out in steps with a label each, in characters (layout: stepwise)."""
    if per_prompt < 1:
        raise ValueError(f"per_prompt is {per_prompt}; expected 1 or more")
    for name, value, most in (("wrong", wrong, 1.0), ("lucky", lucky, 1.0), ("flip", flip, 0.5)):
        if not 0 <= value <= most:
            raise ValueError(f"{name} is {value}; expected 0 to {most:g}")
    train, held = _parts(
        "steps", seed, rows, heldout, lambda stream, n: solutions(stream, n, per_prompt, wrong, lucky, flip)
    )
    report = _report("steps", "stepwise", seed, held) | {
        "wrong": _share(held.rows, lambda row: row["true_first_error"] >= 0),
        "lucky": _share(held.rows, lambda row: row["true_first_error"] >= 0 and row["true_ends"]),
    }
    return Made(train.rows, held.rows, report)


KINDS: dict[str, Callable[..., Made]] = {kind.__name__: kind for kind in (requests, sums, steps)}
"""Every set by name."""


def write(rows: Sequence[Row], path: Path) -> None:
    """Rows as JSON lines; equal rows give equal bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8", newline="\n")


def _made(
    domain: Domain,
    labels: Labels,
    layout: Layout,
    rows: int,
    heldout: int,
    seed: int,
    min_gap: float,
    score_noise: float | None,
) -> Made:
    if score_noise is not None and score_noise < 0:
        raise ValueError(f"score_noise is {score_noise}; expected 0 or more")
    spread = 0.5 if score_noise is None else score_noise

    def draw(stream: Stream, n: int) -> Table:
        if layout == "preference":
            return preferences(domain, labels, stream, n, min_gap, score_noise)
        return (
            verdicts(domain, labels, stream, n)
            if layout == "unpaired-preference"
            else scores(domain, stream, n, spread)
        )

    train, held = _parts(domain.name, seed, rows, heldout, draw)
    report = _report(domain.name, layout, seed, held)
    if layout == "regression":
        report["bayes_mse"] = spread**2
    return Made(train.rows, held.rows, report)


def _parts(kind: str, seed: int, rows: int, heldout: int, draw: Callable[[Stream, int], Table]) -> tuple[Table, Table]:
    if rows < 1 or heldout < 1:
        raise ValueError(f"rows is {rows} and heldout {heldout}; expected 1 or more of each")
    parts: tuple[Part, Part] = ("train", "heldout")
    train, held = (draw(Stream(kind, seed, part), n) for part, n in zip(parts, (rows, heldout), strict=True))
    return train, held


def _report(kind: str, layout: str, seed: int, held: Table) -> dict[str, Any]:
    """bayes_accuracy: the best expected share of held-out labels that any model can get right, not told who labelled;
    bayes_accuracy_by_group: told. likelier: the share of them that is the likelier one, which is what the best model
    would be measured at. gold_accuracy: what the true quality would get right in expectation."""
    found: dict[str, Any] = {"kind": kind, "layout": layout, "seed": seed}
    if len(held.probability):
        found["bayes_accuracy"] = bayes_accuracy(held.probability)
        found["likelier"] = float(held.right.mean())
        if held.known is not None:
            found["bayes_accuracy_by_group"] = bayes_accuracy(held.known)
        found["gold_accuracy"] = order_accuracy(held.probability, held.gap)
    if held.items is not None:
        found["quality"] = {"mean": float(held.items.quality.mean()), "spread": float(held.items.quality.std())}
        found["length"] = {"mean": float(held.items.length.mean()), "spread": float(held.items.length.std())}
        found["length_quality_correlation"] = _correlation(held)
        found["ties"] = held.ties
    return found


def _correlation(held: Table) -> float | None:
    """Pearson's, None where one of the two does not vary."""
    if held.items is None or min(held.items.quality.std(), held.items.length.std()) == 0:
        return None
    return float(np.corrcoef(held.items.quality, held.items.length)[0, 1])


def _share(rows: Sequence[Row], of: Callable[[Row], bool]) -> float:
    return sum(map(of, rows)) / len(rows)
