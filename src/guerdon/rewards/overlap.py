"""How much of a reference a reply repeats: token F1, ROUGE, BLEU and chrF as rewards between 0 and 1.

For summaries, translations and short free answers, where a reply is more or less right. Overlap sees words and no
meaning: a negation costs one word. All read the reply after its reasoning (</think>) against `task.data["answer"]`,
one reference or a list of them, of which the most similar counts. The file that imports rouge-score and sacrebleu.
"""

from __future__ import annotations

import asyncio
import string
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from guerdon.names import nearest
from guerdon.rewards.verify.extract import golds, marked
from guerdon.rewards.words import pieces
from guerdon.rewards.written import after_thought, reply_of
from guerdon.types import Score, Verdict

if TYPE_CHECKING:
    from guerdon.rollouts.base import Context
    from guerdon.types import Episode, Group

ROUGES = (*(f"rouge{n}" for n in range(1, 10)), "rougeL", "rougeLsum")


@dataclass(frozen=True)
class Overlap(ABC):
    """A reward that is the likeness of the reply to its nearest reference, in [0, 1].

    An empty reply is 'no_answer' and worth 0 unless a reference is empty too. RewardFault for a task without an answer.
    """

    name: str
    weight: float = 1.0

    @abstractmethod
    def likeness(self, reply: str, reference: str) -> float:
        """In [0, 1]; 1 for equal texts."""

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        return await asyncio.to_thread(lambda: [self._score(episode, context) for episode in group])

    def _score(self, episode: Episode, context: Context) -> Score:
        references = [str(gold).strip() for gold in golds(episode.task, self.name)]
        reply = after_thought(reply_of(episode, context)).strip()
        if not reply:
            verdict = Verdict("no_answer", "the reply is empty", stage="extract")
            return Score(1.0) if "" in references else Score(0.0, verdict=verdict)
        return Score(max(self.likeness(reply, reference) for reference in references))


@dataclass(frozen=True)
class TokenF1(Overlap):
    """2PR / (P + R) of the words that reply and reference share, as SQuAD counts them (Rajpurkar et al. 2016).

    Words are lower-case, without punctuation and without a, an, the; each Chinese or Japanese character is one. The
    reply is read where it marks its answer (####, <answer>, a box), else whole. Without a word on one side: 1 if
    neither has any, else 0. 'the cat sat' against 'a cat sat down': P = 2/2, R = 2/3, value 0.8.
    """

    name: str = "f1"

    def likeness(self, reply: str, reference: str) -> float:
        part = marked(reply)
        said, wanted = (Counter(_squad_words(text)) for text in (reply if part is None else part, reference))
        if not said or not wanted:
            return float(said == wanted)
        return 2 * (said & wanted).total() / (said.total() + wanted.total())


@dataclass(frozen=True)
class Rouge(Overlap):
    """The F-measure of ROUGE (Lin 2004), from rouge-score. kind: rouge1 to rouge9, rougeL or rougeLsum.

    stem: cut English endings off first. Words are runs of letters and digits of any script (rouge-score by itself sees
    only a to z and digits, so that nothing Chinese or Cyrillic would ever match), lower-case. Words of a reply
    beyond `max_words` match nothing but count in its precision: the longest common subsequence costs time and memory
    for each pair of words. ImportError where rouge-score is absent.
    """

    name: str = "rouge"
    kind: str = "rougeL"
    stem: bool = False
    max_words: int = 2000

    def __post_init__(self) -> None:
        if self.kind not in ROUGES:
            raise ValueError(f"there is no ROUGE {self.kind!r}{nearest(self.kind, ROUGES)}")
        if self.max_words < 1:
            raise ValueError(f"max_words is {self.max_words}; expected 1 or more")
        _require("rouge_score", "rouge-score")

    def likeness(self, reply: str, reference: str) -> float:
        read, total = _first_words(reply, self.max_words)
        score = _rouge(self.kind, self.stem).score(reference, read)[self.kind]
        precision = float(score.precision) * min(1.0, self.max_words / total) if total else 0.0
        both = precision + float(score.recall)
        return 2 * precision * float(score.recall) / both if both else 0.0


@dataclass(frozen=True)
class Bleu(Overlap):
    """Sentence BLEU / 100 (Papineni et al. 2002), from sacrebleu, with its exponential smoothing.

    Of n-grams up to 4 only the lengths that the reply has count (effective order), so that a reply of three words can
    reach 1. tokenize: sacrebleu's tokenizer; 'zh' or 'char' for scripts without spaces. ImportError where sacrebleu is
    absent.
    """

    name: str = "bleu"
    tokenize: str = "13a"

    def __post_init__(self) -> None:
        _require("sacrebleu", "sacrebleu")
        _bleu(self.tokenize)

    def likeness(self, reply: str, reference: str) -> float:
        return min(1.0, float(_bleu(self.tokenize).sentence_score(reply, [reference]).score) / 100)


@dataclass(frozen=True)
class ChrF(Overlap):
    """Sentence chrF / 100 (Popovic 2015), from sacrebleu: F2 of the character n-grams up to 6, white space left out.

    It needs no words, so it fits every script. word_order: 2 makes it chrF++, with n-grams of words up to 2.
    ImportError where sacrebleu is absent.
    """

    name: str = "chrf"
    word_order: int = 0

    def __post_init__(self) -> None:
        if self.word_order < 0:
            raise ValueError(f"word_order is {self.word_order}; expected 0 (chrF) or more (2: chrF++)")
        _require("sacrebleu", "sacrebleu")

    def likeness(self, reply: str, reference: str) -> float:
        return min(1.0, float(_chrf(self.word_order).sentence_score(reply, [reference]).score) / 100)


def _squad_words(text: str) -> list[str]:
    kept = "".join(char for char in text.lower() if not _is_punctuation(char))
    return [word for word in pieces(kept) if word not in ("a", "an", "the")]


def _is_punctuation(char: str) -> bool:
    return char in string.punctuation or unicodedata.category(char).startswith("P")


def _first_words(text: str, most: int) -> tuple[str, int]:
    """The text up to the end of its first `most` words, and how many it has in all."""
    found = pieces(text)
    return (text if len(found) <= most else " ".join(found[:most])), len(found)


def _require(module: str, package: str) -> None:
    if find_spec(module) is None:
        raise ImportError(f"this reward needs the package {package}: pip install 'guerdon[text]'")


class _Words:
    """Our words in the form that rouge-score takes a tokenizer in."""

    def __init__(self, stem: bool) -> None:
        from nltk.stem.porter import PorterStemmer  # type: ignore[import-untyped]  # rouge-score brings it along

        self._stemmer = PorterStemmer() if stem else None

    def tokenize(self, text: str) -> list[str]:
        found = pieces(text.lower())
        if self._stemmer is None:
            return found
        return [self._stemmer.stem(word) if len(word) > 3 else word for word in found]


@cache
def _rouge(kind: str, stem: bool) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer([kind], tokenizer=_Words(stem))


@cache
def _bleu(tokenize: str) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    if tokenize not in BLEU.TOKENIZERS:
        raise ValueError(f"sacrebleu has no tokenizer {tokenize!r}{nearest(tokenize, BLEU.TOKENIZERS)}")
    return BLEU(tokenize=tokenize, effective_order=True)


@cache
def _chrf(word_order: int) -> Any:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(word_order=word_order)
