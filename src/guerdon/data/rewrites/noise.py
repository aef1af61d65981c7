"""Light damage: letters and words of a text, one in ten and at least one, as a hasty or a malicious hand would."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable

from guerdon.data.rewrites.base import Change, Rewrite

SHARE = 0.1
"""Of the words that can be changed."""
_WORD = re.compile(r"[^\W\d_]{4,}")
"""Letters only: a number that changes is another answer."""

_LIKE = str.maketrans("aceiopsxyABCEHIKMOPTX", "асеіорѕхуАВСЕНІКМОРТХ")  # Latin to Cyrillic that looks alike


def some_words(change: Callable[[str, random.Random], str]) -> Change:
    """The change, made to some of the words of four letters or more."""

    def changed(text: str, numbers: random.Random) -> str:
        places = [match.span() for match in _WORD.finditer(text)]
        if not places:
            return text
        chosen = numbers.sample(places, max(1, round(SHARE * len(places))))
        for start, end in sorted(chosen, reverse=True):
            text = text[:start] + change(text[start:end], numbers) + text[end:]
        return text

    return changed


def swapped(word: str, numbers: random.Random) -> str:
    """Two unequal letters inside it that stand side by side, in each other's place."""
    places = [i for i in range(1, len(word) - 2) if word[i] != word[i + 1]]
    if not places:
        return word
    i = numbers.choice(places)
    return word[:i] + word[i + 1] + word[i] + word[i + 2 :]


def substituted(word: str, numbers: random.Random) -> str:
    i = numbers.randrange(1, len(word))
    return word[:i] + numbers.choice(string.ascii_lowercase.replace(word[i].lower(), "")) + word[i + 1 :]


def inserted(word: str, numbers: random.Random) -> str:
    i = numbers.randrange(1, len(word))
    return word[:i] + numbers.choice(string.ascii_lowercase) + word[i:]


def deleted(word: str, numbers: random.Random) -> str:
    i = numbers.randrange(1, len(word))
    return word[:i] + word[i + 1 :]


def homoglyphs(text: str, numbers: random.Random) -> str:
    """Every Latin letter that has a Cyrillic twin, as that."""
    return text.translate(_LIKE)


def fewer_words(text: str, numbers: random.Random) -> str:
    """Without some of its words of four letters or more; the last that is left stays."""
    places = [match.span() for match in re.finditer(r"\s*\b[^\W\d_]{4,}\b", text)]
    if len(places) < 2:
        return text
    for start, end in sorted(numbers.sample(places, max(1, round(SHARE * len(places)))), reverse=True):
        text = text[:start] + text[end:]
    return text.strip()


NOISE = (
    Rewrite("homoglyphs", "noise", "meaning", homoglyphs, homoglyphs),
    Rewrite("character_swap", "noise", "meaning", some_words(swapped), some_words(swapped)),
    Rewrite("character_substitution", "noise", "meaning", some_words(substituted), some_words(substituted)),
    Rewrite("character_insertion", "noise", "meaning", some_words(inserted), some_words(inserted)),
    Rewrite("character_deletion", "noise", "meaning", some_words(deleted), some_words(deleted)),
    Rewrite("word_deletion", "noise", "ranking", fewer_words),
)
