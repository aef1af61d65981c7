"""Letter case: all capitals, none, or a number of words in capitals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guerdon.rewards.verify.constraints.counts import Check, compare
from guerdon.rewards.verify.constraints.language import english
from guerdon.rewards.words import words


def english_capital(text: str) -> str:
    """No small letter, at least one capital, and English where 10 words or more let one tell."""
    return _only(text, str.isupper, str.islower, "capital", "small") or english(text)


def english_lowercase(text: str) -> str:
    """No capital letter, at least one small one, and English where 10 words or more let one tell."""
    return _only(text, str.islower, str.isupper, "small", "capital") or english(text)


def capital_word_frequency(text: str, capital_frequency: Any, capital_relation: str = "at least") -> str:
    """Words in capitals: words with a capital letter and no small one ('I', 'USA' and 'B2B' count, '2' does not)."""
    return compare(sum(map(str.isupper, words(text))), capital_frequency, capital_relation, "words in capitals")


def _only(text: str, wanted: Any, unwanted: Any, name: str, other: str) -> str:
    wrong = next((letter for letter in text if letter.isalpha() and unwanted(letter)), None)
    if wrong is not None:
        return f"a {other} letter: {wrong!r}"
    return "" if any(map(wanted, text)) else f"no {name} letters"


KINDS: Mapping[str, Check] = {
    "change_case:english_capital": english_capital,
    "change_case:english_lowercase": english_lowercase,
    "change_case:capital_word_frequency": capital_word_frequency,
}
