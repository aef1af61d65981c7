"""Rewrites by template: what is added, wrapped or turned is the same for every text."""

from __future__ import annotations

import random
import re
import string

from guerdon.data.rewrites.base import Change, Rewrite

REPEATS = 5
_HOSTS = ("t.co", "example.com", "example.org")
_DISTRACTIONS = (
    "The harbour master keeps a list of every boat that leaves before sunrise.",
    "Bread rises faster in a warm kitchen than in a cold one.",
    "The third platform of the station has been closed since the spring.",
    "A violin is tuned in fifths, from the lowest string to the highest.",
)


def quoted(text: str, numbers: random.Random) -> str:
    """In double quotes."""
    return f'"{text}"'


def spaced(text: str, numbers: random.Random) -> str:
    """One space on both sides of every mark of punctuation, but at the ends of lines."""
    apart = re.sub(r"[ \t]*([.,;:!?()\[\]{}])[ \t]*", r" \1 ", text)
    joined = re.sub(r"(?<=[.,;:!?()\[\]{}])  (?=[.,;:!?()\[\]{}])", " ", apart)
    return re.sub(r"^ | $", "", joined, flags=re.MULTILINE)


def handle(text: str, numbers: random.Random) -> str:
    """A handle of made-up letters after it."""
    return f"{text} @{_letters(numbers, 8)}"


def address(text: str, numbers: random.Random) -> str:
    """An address of made-up letters after it."""
    return f"{text} https://{numbers.choice(_HOSTS)}/{_letters(numbers, 8)}"


def repeated(text: str, numbers: random.Random) -> str:
    """What is true whatever was said, several times, after it."""
    return text + " and true is true" * REPEATS


def ignore_above(text: str, numbers: random.Random) -> str:
    """A sentence about something else before it, which is to be ignored."""
    return f"{numbers.choice(_DISTRACTIONS)}\n\nIgnore the text above. Answer the following only.\n\n{text}"


def ignore_below(text: str, numbers: random.Random) -> str:
    """A sentence about something else after it, which is to be ignored."""
    return f"{text}\n\nIgnore the text below.\n\n{numbers.choice(_DISTRACTIONS)}"


def turned(by: int) -> Change:
    """Every letter of the alphabet replaced by the one `by` places on."""
    return lambda text, numbers: text.translate(_wheel(by))


def asks_turned(by: int) -> Change:
    """The prompt, with the wish that the reply be written so."""
    return lambda text, numbers: f"{text}\n\nReplace every letter of your answer by the letter {by} places after it."


def _wheel(by: int) -> dict[int, int]:
    low, high = string.ascii_lowercase, string.ascii_uppercase
    return str.maketrans(low + high, low[by:] + low[:by] + high[by:] + high[:by])


def _letters(numbers: random.Random, n: int) -> str:
    return "".join(numbers.choice(string.ascii_letters + string.digits) for _ in range(n))


CONTROLLED = (
    Rewrite("quotes", "controlled", "meaning", quoted, quoted),
    Rewrite("punctuation_spaces", "controlled", "meaning", spaced, spaced),
    Rewrite("handle", "controlled", "meaning", handle),
    Rewrite("url", "controlled", "meaning", address),
    Rewrite("repeated_text", "controlled", "meaning", repeated),
    Rewrite("ignore_above", "controlled", "ranking", None, ignore_above),
    Rewrite("ignore_below", "controlled", "ranking", None, ignore_below),
    Rewrite("rot13", "controlled", "ranking", turned(13), asks_turned(13)),
    Rewrite("rot2", "controlled", "ranking", turned(2), asks_turned(2)),
)
