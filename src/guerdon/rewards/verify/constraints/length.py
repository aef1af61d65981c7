"""How long a text is, in words, sentences and paragraphs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from guerdon.rewards.verify.constraints.counts import Check, ConstraintError, compare, one_text, whole
from guerdon.rewards.words import paragraphs, sentences, spelled, words

_DIVIDER = re.compile(r"(?<!\S)\*\*\*(?!\S)")


def number_words(text: str, num_words: Any, relation: str = "at least") -> str:
    """Words, as `words` counts them: don't, well-known and 3.14 are one each, as is every Chinese character."""
    return compare(len(words(text)), num_words, relation, "words")


def number_sentences(text: str, num_sentences: Any, relation: str = "at least") -> str:
    """Sentences, as `sentences` counts them: '.', '!' and '?' end one, abbreviations and decimals do not."""
    return compare(len(sentences(text)), num_sentences, relation, "sentences")


def number_paragraphs(text: str, num_paragraphs: Any, relation: str = "exactly") -> str:
    """Paragraphs divided by *** standing alone; one before the first or after the last is allowed, none is empty."""
    parts = _DIVIDER.split(text)
    if any(not part.strip() for part in parts[1:-1]):
        return "an empty paragraph between two ***"
    return compare(sum(1 for part in parts if part.strip()), num_paragraphs, relation, "paragraphs divided by ***")


def nth_paragraph_first_word(text: str, num_paragraphs: Any, nth_paragraph: Any, first_word: str) -> str:
    """Exactly so many paragraphs, divided by blank lines, the nth (from 1) of which starts with a word, caseless."""
    found, nth = paragraphs(text), whole(nth_paragraph, "the paragraph")
    if not 1 <= nth <= whole(num_paragraphs, "paragraphs"):
        raise ConstraintError(f"nth_paragraph is {nth}; expected 1 to num_paragraphs ({num_paragraphs})")
    broken = compare(len(found), num_paragraphs, "exactly", "paragraphs")
    if broken:
        return broken
    wanted = words(spelled(one_text(first_word, "first_word")))
    start = words(spelled(found[nth - 1]))[: len(wanted)]
    return "" if start == wanted else f"paragraph {nth} starts with {' '.join(start)!r}, expected {first_word!r}"


KINDS: Mapping[str, Check] = {
    "length_constraints:number_words": number_words,
    "length_constraints:number_sentences": number_sentences,
    "length_constraints:number_paragraphs": number_paragraphs,
    "length_constraints:nth_paragraph_first_word": nth_paragraph_first_word,
}
