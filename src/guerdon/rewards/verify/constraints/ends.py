"""How a text starts and ends."""

from __future__ import annotations

from collections.abc import Mapping

from guerdon.rewards.verify.constraints.counts import Check, one_text
from guerdon.rewards.words import phrase_pattern, spelled, words

_QUOTES = {'"': '"', "\u201c": "\u201d", "\u201e": "\u201c\u201d", "\u00ab": "\u00bb", "\uff02": "\uff02"}


def end_checker(text: str, end_phrase: str) -> str:
    """The text ends with the phrase, caseless, as whole words; only punctuation (a quote, a point) may follow it."""
    phrase = one_text(end_phrase, "end_phrase")
    said = spelled(text)
    ends = [match.end() for match in phrase_pattern(phrase.strip().strip('"')).finditer(said)]
    return "" if ends and not words(said[ends[-1] :]) else f"does not end with {phrase!r}"


def quotation(text: str) -> str:
    """The text starts and ends with double quotation marks, "straight" or curly, and has a word between them."""
    said = text.strip()
    if len(said) < 2 or said[-1] not in _QUOTES.get(said[0], ""):
        return "not wrapped in double quotation marks"
    return "" if words(said) else "nothing between the quotation marks"


KINDS: Mapping[str, Check] = {"startend:end_checker": end_checker, "startend:quotation": quotation}
