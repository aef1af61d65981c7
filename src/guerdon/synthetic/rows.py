"""Labelled texts as rows of a file, in each layout, with what is true of them in columns that start with `true_`.

Row i of a seed is the same however many rows are made. Prompts are divided between training and held out as those of
tasks are (`tasks.base.held_out`: one in ten, by a hash of the prompt), so that no prompt is ever in both.

preference: prompt, chosen, rejected; margin: how strongly it was felt, > 0, in units of the temperature; group: who
    labelled, from 0 (where there are two groups); score_chosen, score_rejected: quality with noise (where noise is
    given); true_chosen, true_rejected: gold; true_probability: that this label comes about rather than its opposite.
unpaired-preference: prompt, completion, label (good or not: preferred to the kind's standard reply); group;
    true_quality; true_probability: that the label is true.
regression: prompt, completion, score (quality with noise); true_quality.
stepwise: prompt, completions (steps), labels (of each); true_labels; true_first_error: index, -1 for none; true_ends
    (whether the last result is right).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from guerdon.rollouts.base import derive
from guerdon.synthetic.domain import Domain, Seen, traits
from guerdon.synthetic.labels import DRAWS, Array, Drawn, Labels, Traits
from guerdon.synthetic.steps import draw_prompt, draw_solution
from guerdon.tasks.base import held_out

Part = Literal["train", "heldout"]
Row = dict[str, Any]
DIGITS = 6
"""Decimals that are written."""
TRIES = 1000
"""Draws of one prompt or pair before it is given up."""


@dataclass(frozen=True)
class Stream:
    """Where random numbers come from: those of row i depend on nothing but kind, seed, part and i."""

    kind: str
    seed: int
    part: Part

    def numbers(self, i: int, *what: str) -> random.Random:
        """The numbers of row i, a stream of its own for each use."""
        return random.Random(derive("synthetic", self.kind, self.seed, self.part, i, *what))

    def uniform(self, n: int) -> Array:
        """What labels are drawn from. [n, DRAWS]"""
        found = []
        for i in range(n):
            numbers = self.numbers(i, "label")
            found.append([numbers.random() for _ in range(DRAWS)])
        return np.array(found, dtype=np.float64).reshape(n, DRAWS)

    def noise(self, i: int, n: int, scale: float) -> list[float]:
        """n normal numbers of this spread."""
        numbers = self.numbers(i, "noise")
        pairs = [(1 - numbers.random(), numbers.random()) for _ in range(n)]
        return [scale * math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v) for u, v in pairs]

    def prompt(self, draw: Callable[[random.Random], str], numbers: random.Random) -> str:
        """A prompt of this part."""
        for _ in range(TRIES):
            prompt = draw(numbers)
            if held_out(prompt) == (self.part == "heldout"):
                return prompt
        raise ValueError(f"{self.kind}: none of {TRIES} prompts belongs to the part {self.part!r}")


@dataclass(frozen=True)
class Table:
    """Rows, and what is known of their labels. probability [n]: of the label 'a', or of 'good', of each row.

    known: the same, given which group labelled [n]; None where there is one. gap: quality of a less that of b, or of
    the standard [n]. right: whether the label is the likelier one [n]; of steps, whether it is the true one. ties:
    pairs that were labelled a tie and drawn anew.
    """

    rows: list[Row]
    probability: Array
    gap: Array
    right: Array
    items: Traits | None = None
    known: Array | None = None
    ties: int = 0


def preferences(
    domain: Domain, labels: Labels, stream: Stream, n: int, min_gap: float = 0.0, score_noise: float | None = None
) -> Table:
    """n labelled pairs of different replies whose quality differs by min_gap or more. A pair that is labelled a tie
    gives way to the next."""
    made = _untied(domain, labels, stream, n, min_gap)
    a, b = traits([pair.seen[0] for pair in made.pairs]), traits([pair.seen[1] for pair in made.pairs])
    probability, rows = labels.probability(a, b), []
    for i, pair in enumerate(made.pairs):
        order = (0, 1) if made.drawn.outcome[i] == 1 else (1, 0)
        p = float(probability[i]) if order[0] == 0 else 1 - float(probability[i])
        chosen, rejected = (pair.replies[place] for place in order)
        row: Row = {"prompt": pair.prompt, "chosen": chosen, "rejected": rejected}
        row["margin"] = max(_round(made.drawn.margin[i]), 10.0**-DIGITS)
        if len(labels.groups) > 1:
            row["group"] = int(made.drawn.group[i])
        qualities = [pair.seen[place].quality for place in order]
        if score_noise is not None:
            scores = zip(qualities, stream.noise(made.numbers[i], 2, score_noise), strict=True)
            row["score_chosen"], row["score_rejected"] = (_round(quality + noise) for quality, noise in scores)
        row["true_chosen"], row["true_rejected"] = map(_round, qualities)
        row["true_probability"] = _round(p)
        rows.append(row)
    likelier = (probability > 0.5) == (made.drawn.outcome == 1)
    known = _known(labels, labels.by_group(a, b), made.drawn)
    both = traits([one for pair in made.pairs for one in pair.seen])
    return Table(rows, probability, a.quality - b.quality, likelier, both, known, made.ties)


def verdicts(domain: Domain, labels: Labels, stream: Stream, n: int) -> Table:
    """n single replies, each labelled good where it is preferred to the domain's standard; a tie is good by a coin."""
    replies = [_single(domain, stream, i) for i in range(n)]
    items, standard = traits([seen for _, _, seen in replies]), traits([domain.standard] * n)
    probability = labels.win(items, standard) + 0.5 * labels.tie(items, standard)
    drawn = labels.draw(items, standard, stream.uniform(n))
    rows: list[Row] = []
    for i, (prompt, reply, seen) in enumerate(replies):
        tied = drawn.outcome[i] == 0.5
        good = stream.numbers(i, "coin").random() < 0.5 if tied else bool(drawn.outcome[i] == 1)
        row: Row = {"prompt": prompt, "completion": reply, "label": good}
        if len(labels.groups) > 1:
            row["group"] = int(drawn.group[i])
        rows.append(row | {"true_quality": _round(seen.quality), "true_probability": _round(probability[i])})
    right = np.array([row["label"] for row in rows]) == (probability > 0.5)
    p, tie = labels.by_group(items, standard), labels.tie_by_group(items, standard)
    known = _known(labels, p * (1 - tie) + 0.5 * tie, drawn)
    return Table(rows, probability, items.quality - standard.quality, right, items, known)


def scores(domain: Domain, stream: Stream, n: int, noise: float) -> Table:
    """n single replies with their quality and normal noise of this spread."""
    rows: list[Row] = []
    found: list[Seen] = []
    for i in range(n):
        prompt, reply, seen = _single(domain, stream, i)
        score = seen.quality + stream.noise(i, 1, noise)[0]
        rows.append({"prompt": prompt, "completion": reply, "score": _round(score)})
        rows[-1]["true_quality"] = _round(seen.quality)
        found.append(seen)
    nothing = np.zeros(0)
    return Table(rows, nothing, nothing, nothing, traits(found))


def solutions(stream: Stream, n: int, per_prompt: int, wrong: float, lucky: float, flip: float) -> Table:
    """n solutions of sums, per_prompt in a row of each prompt; each label is turned round with probability flip."""
    rows: list[Row] = []
    right: list[bool] = []
    for i in range(n):
        prompt = stream.prompt(draw_prompt, stream.numbers(i // per_prompt, "prompt"))
        solution = draw_solution(stream.numbers(i, "solution"), prompt, wrong, lucky)
        numbers = stream.numbers(i, "label")
        told = [label != (numbers.random() < flip) for label in solution.labels]
        rows.append({"prompt": prompt, "completions": list(solution.steps), "labels": told})
        rows[-1] |= {"true_labels": list(solution.labels), "true_first_error": solution.first_error}
        rows[-1]["true_ends"] = solution.ends_right
        right += [one == other for one, other in zip(told, solution.labels, strict=True)]
    return Table(rows, np.full(len(right), 1 - flip), np.ones(len(right)), np.array(right))


@dataclass(frozen=True)
class _Pair:
    prompt: str
    replies: tuple[str, str]
    seen: tuple[Seen, Seen]


@dataclass(frozen=True)
class _Untied:
    pairs: list[_Pair]
    drawn: Drawn
    numbers: list[int]
    ties: int


def _untied(domain: Domain, labels: Labels, stream: Stream, n: int, min_gap: float) -> _Untied:
    pairs = [_pair(domain, stream, i, min_gap) for i in range(n)]
    while True:
        a, b = traits([pair.seen[0] for pair in pairs]), traits([pair.seen[1] for pair in pairs])
        drawn = labels.draw(a, b, stream.uniform(len(pairs)))
        kept = np.flatnonzero(drawn.outcome != 0.5)
        if len(kept) >= n:
            kept = kept[:n]
            some = Drawn(drawn.outcome[kept], drawn.margin[kept], drawn.group[kept])
            ties = int((drawn.outcome[: int(kept[-1]) + 1] == 0.5).sum()) if n else 0
            return _Untied([pairs[i] for i in kept], some, [int(i) for i in kept], ties)
        if len(pairs) > 20 * n + 200:
            raise ValueError(f"{domain.name}: {len(pairs) - len(kept)} of {len(pairs)} pairs are ties; lower `ties`")
        pairs += [_pair(domain, stream, i, min_gap) for i in range(len(pairs), len(pairs) + 2 * (n - len(kept)))]


def _pair(domain: Domain, stream: Stream, i: int, min_gap: float) -> _Pair:
    numbers = stream.numbers(i, "text")
    for _ in range(TRIES):
        prompt = stream.prompt(domain.prompt, numbers)
        one, other = (domain.reply(numbers, prompt) for _ in range(2))
        seen = domain.seen(prompt, one), domain.seen(prompt, other)
        if one != other and abs(seen[0].quality - seen[1].quality) >= min_gap:
            return _Pair(prompt, (one, other), seen)
    raise ValueError(f"{domain.name}: in {TRIES} draws no two replies differ in quality by min_gap = {min_gap:g}")


def _single(domain: Domain, stream: Stream, i: int) -> tuple[str, str, Seen]:
    numbers = stream.numbers(i, "text")
    prompt = stream.prompt(domain.prompt, numbers)
    reply = domain.reply(numbers, prompt)
    return prompt, reply, domain.seen(prompt, reply)


def _known(labels: Labels, by_group: Array, drawn: Drawn) -> Array | None:
    """Of probabilities by group [G, n], those of the groups that labelled. [n]"""
    return by_group[drawn.group, np.arange(len(drawn.group))] if len(labels.groups) > 1 else None


def _round(value: float) -> float:
    return round(float(value), DIGITS) + 0.0
