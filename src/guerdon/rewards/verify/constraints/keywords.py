"""Words that have to be there, must not be there, or are counted; letters that are counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guerdon.rewards.verify.constraints.counts import Check, ConstraintError, compare, one_text, texts
from guerdon.rewards.words import count_phrase


def existence(text: str, keywords: Any) -> str:
    """Every keyword stands in the text, as whole words and caseless: 'art' is not in 'party'."""
    missing = [word for word in texts(keywords, "keywords") if not count_phrase(word, text)]
    return f"missing: {', '.join(missing)}" if missing else ""


def forbidden_words(text: str, forbidden_words: Any) -> str:
    """None of the words stands in the text, as whole words and caseless, however they are spelled in Unicode."""
    found = [word for word in texts(forbidden_words, "forbidden_words") if count_phrase(word, text)]
    return f"forbidden, but there: {', '.join(found)}" if found else ""


def frequency(text: str, keyword: str, frequency: Any, relation: str = "at least") -> str:
    """How often a keyword stands in the text, as whole words and caseless."""
    word = one_text(keyword, "keyword")
    return compare(count_phrase(word, text), frequency, relation, f"times {word!r}")


def letter_frequency(text: str, letter: str, let_frequency: Any, let_relation: str = "at least") -> str:
    """How often a letter (or any other single character) stands in the text, caseless."""
    if not isinstance(letter, str) or len(letter) != 1:
        raise ConstraintError(f"letter is {letter!r}; expected one character")
    return compare(text.lower().count(letter.lower()), let_frequency, let_relation, f"times {letter!r}")


KINDS: Mapping[str, Check] = {
    "keywords:existence": existence,
    "keywords:frequency": frequency,
    "keywords:forbidden_words": forbidden_words,
    "keywords:letter_frequency": letter_frequency,
}
