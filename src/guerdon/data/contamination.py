"""Overlap of training prompts with what a policy is evaluated on, by word n-grams; and training data without it.

The measure is that of Tülu 3 (Lambert et al., 2024, arXiv:2411.15124), computed exactly: the score of an evaluation
prompt is the largest share of its tokens that n-grams shared with one single training prompt cover. Shares of
different training prompts do not add up.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

N = 8
THRESHOLD = 0.5

Tokenize = Callable[[str], Sequence[str]]

# Scripts without spaces between words are taken character by character.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")


@dataclass(frozen=True)
class Hit:
    """A training prompt that holds too much of an evaluation prompt; both by position, share: of its tokens."""

    train: int
    evaluation: int
    share: float


@dataclass(frozen=True)
class Overlap:
    """scores: by evaluation prompt, the largest share held by one training prompt, 0 to 1. hits: shares > threshold."""

    scores: tuple[float, ...]
    hits: tuple[Hit, ...]

    @property
    def mean(self) -> float:
        """How contaminated the evaluation set is: the mean of its prompts' scores."""
        return sum(self.scores) / len(self.scores) if self.scores else 0.0

    @property
    def matched(self) -> tuple[int, ...]:
        """Evaluation prompts that some training prompt holds too much of, by position."""
        return tuple(sorted({hit.evaluation for hit in self.hits}))

    @property
    def share(self) -> float:
        """Share of the evaluation prompts that are matched."""
        return len(self.matched) / len(self.scores) if self.scores else 0.0


def words(text: str) -> list[str]:
    """Lower-cased words and numbers; punctuation is left out."""
    return _WORD.findall(text.lower())


def overlap(
    train: Sequence[str],
    evaluation: Sequence[str],
    n: int = N,
    threshold: float = THRESHOLD,
    tokenize: Tokenize = words,
) -> Overlap:
    """How much of each evaluation prompt stands in the training prompts. n: tokens of an n-gram, >= 1.

    An evaluation prompt of fewer than n tokens has no n-gram; it scores 1 where a training prompt is the same text, up
    to case and white space, and 0 otherwise.
    """
    if n < 1 or not 0 <= threshold < 1:
        raise ValueError(f"n is {n} and threshold {threshold}; expected n of 1 or more and a threshold in [0, 1)")
    asked = [tuple(tokenize(text)) for text in evaluation]
    grams, same = _index(asked, evaluation, n)
    scores, hits = [0.0] * len(evaluation), []
    for position, text in enumerate(train):
        for number, share in sorted(_shares(tuple(tokenize(text)), _bare(text), asked, grams, same, n).items()):
            scores[number] = max(scores[number], share)
            if share > threshold:
                hits.append(Hit(position, number, share))
    return Overlap(tuple(scores), tuple(hits))


def decontaminate(
    train: Sequence[str],
    evaluation: Sequence[str],
    n: int = N,
    threshold: float = THRESHOLD,
    tokenize: Tokenize = words,
) -> tuple[list[int], list[Hit]]:
    """(kept, removed): positions of the training prompts that may stay, and of each other one its largest hit."""
    worst: dict[int, Hit] = {}
    for hit in overlap(train, evaluation, n, threshold, tokenize).hits:
        if hit.train not in worst or hit.share > worst[hit.train].share:
            worst[hit.train] = hit
    return [i for i in range(len(train)) if i not in worst], [worst[i] for i in sorted(worst)]


Grams = Mapping[tuple[str, ...], list[tuple[int, int]]]


def _index(asked: Sequence[tuple[str, ...]], texts: Sequence[str], n: int) -> tuple[Grams, Mapping[str, list[int]]]:
    """Where each n-gram stands: (evaluation prompt, first token); and the prompts too short for one, by their text.

    The evaluation prompts are indexed, not the training ones, which are many and seen one at a time.
    """
    grams: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    same: dict[str, list[int]] = defaultdict(list)
    for number, tokens in enumerate(asked):
        for start in range(len(tokens) - n + 1):
            grams[tokens[start : start + n]].append((number, start))
        if len(tokens) < n and _bare(texts[number]):
            same[_bare(texts[number])].append(number)
    return grams, same


def _shares(
    tokens: tuple[str, ...],
    text: str,
    asked: Sequence[tuple[str, ...]],
    grams: Grams,
    same: Mapping[str, list[int]],
    n: int,
) -> dict[int, float]:
    """By evaluation prompt, the share of its tokens that n-grams of this training prompt cover."""
    covered: dict[int, set[int]] = defaultdict(set)
    for gram in {tokens[start : start + n] for start in range(len(tokens) - n + 1)}:
        for number, start in grams.get(gram, ()):
            covered[number].update(range(start, start + n))
    shares = {number: len(places) / len(asked[number]) for number, places in covered.items()}
    return shares | dict.fromkeys(same.get(text, ()), 1.0)


def _bare(text: str) -> str:
    return " ".join(text.lower().split())
