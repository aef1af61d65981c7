"""KTO: learning from single completions with a label, good or bad, measured against an anchor.

    L = mean over completions of w_d (1 - sigmoid(beta (r - z)))    where desirable
                                 w_u (1 - sigmoid(beta (z - r)))    where not
    z = max(0, mean over mismatched completions of r)

r is the log-ratio log pi / ref of a completion; z has no gradient. A mismatched completion is another row's completion
put after this row's prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np

from guerdon.losses.paired import KTO, Anchor
from guerdon.losses.preference import LEVELS, Aggregate
from guerdon.marks import mark
from guerdon.method import Card, Method, Role, Term
from guerdon.reduce import sequence_mean
from guerdon.rollouts.base import derive
from guerdon.types import Episode, Group, Span

CARD = Card(
    slug="kto",
    name="KTO",
    family="preference",
    paper="Ethayarajh et al. 2024, KTO: model alignment as prospect theoretic optimization, arXiv:2402.01306",
    summary="Raises completions labelled good and lowers those labelled bad, against the policy's mean log-ratio.",
    differs="Each row keeps one mismatched completion for the whole run, of a row with another prompt, drawn by the"
    " seed; the paper shifts completions within each batch, whose neighbours may share a prompt.",
)


def kto(
    beta: float = 0.1,
    desirable: Annotated[float, "weight of completions labelled good"] = 1.0,
    undesirable: Annotated[float, "weight of completions labelled bad"] = 1.0,
    level: Aggregate = "sum",
    epochs: int = 1,
    minibatches: int = 1,
) -> Method:
    """The equation is at the top of the file. A group is a completion and the mismatched one of `with_mismatched`.

    desirable, undesirable: w_d and w_u; the paper wants (w_d * good rows) / (w_u * bad rows) between 1 and 4/3. z is
    that of the batch before its first gradient step. level: the sum over tokens is the paper's.
    """
    settings = dict(locals())
    found = LEVELS[level]
    return Method(
        terms=(Term(KTO(beta, desirable, undesirable, found), sequence_mean, mask="own", name="preference"),),
        estimator=Anchor(found),
        roles={"ref": Role()},
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )


def with_mismatched(rows: Sequence[Group], seed: int = 0) -> list[Group]:
    """Each row's episode with a second one: its prompt, and what is learned of another row, marked `mismatched`.

    rows: groups of one episode, whose first learned span and all after it are the completion. Which row lends its
    completion is fixed by the seed: the next one, in a random order, whose prompt differs; every row lends about once.
    ValueError when all prompts are the same.
    """
    episodes = [episode for group in rows for episode in group]
    prompts = [tuple(int(token) for span in _parts(one)[0] for token in span.tokens) for one in episodes]
    if len(set(prompts)) < 2:
        raise ValueError("every row has the same prompt: KTO needs completions of other prompts as its anchor")
    order = np.random.default_rng(derive(seed, "mismatched")).permutation(len(episodes)).tolist()
    lender: dict[int, int] = {}
    for place, row in enumerate(order):
        others = (order[(place + step) % len(order)] for step in range(1, len(order)))
        lender[row] = next(other for other in others if prompts[other] != prompts[row])
    return [[one, _mismatched(one, episodes[lender[row]])] for row, one in enumerate(episodes)]


def _parts(episode: Episode) -> tuple[list[Span], list[Span]]:
    """(prompt, completion): the spans before the first that is learned, and the rest."""
    first = next((i for i, span in enumerate(episode.spans) if span.sampled), None)
    if not first or len(episode.paths()) > 1:
        raise ValueError(f"{episode.task.id}: expected one path of a prompt and a completion that is learned")
    return episode.spans[:first], episode.spans[first:]


def _mismatched(own: Episode, other: Episode) -> Episode:
    spans = [*_parts(own)[0], *_parts(other)[1]]
    chain = [replace(span, parent=place - 1) for place, span in enumerate(spans)]
    notes = {"mismatched": other.task.id}
    return mark(Episode(own.task, chain, notes=notes), mismatched=1.0)
