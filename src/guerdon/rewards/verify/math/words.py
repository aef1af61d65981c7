"""Answers in words: choice letters, and text compared as text; and words beside a number that are no unit."""

from __future__ import annotations

import re

from guerdon.rewards.verify.math.units import LETTERS
from guerdon.rewards.verify.math.values import Text

_CHOICE = re.compile(
    r"(?:\\text\s*\{\s*)?\(\s*(?:\\text\s*\{\s*)?([A-J])\s*\}?\s*\)(?:\s*\})?(?:[\s.:]+(\S.*))?", re.ASCII | re.S
)
_LETTER = re.compile(r"(?<![A-Za-z\\])[A-J](?![A-Za-z])")
_OPTION = re.compile(r"(?:[Oo]ption|[Cc]hoice|[Aa]nswer)?\s*(?:\\text\s*\{\s*)?\(?([A-J])\)?\s*[.:]?\s*\}?", re.ASCII)
_TEXT = re.compile(r"\\text\s*\{([^{}]*)\}")
_WORDY = re.compile(r"[A-Za-z][A-Za-z'\- ,.&\"!?]*", re.ASCII)
_RUN = re.compile(r"[A-Za-z]+", re.ASCII)
_VOWEL = re.compile(r"[aeiouy]", re.IGNORECASE)
_MATH_NAMES = "sin cos tan cot sec csc ln log sqrt frac pi inf infinity oo exp max min gcd lcm cup and or in"
_MATHS = frozenset(_MATH_NAMES.split())
_TRUTH = frozenset({"yes", "no", "true", "false"})

_UNSAID = re.compile(
    r"""(?<![A-Za-z])(?:hundred|thousand|million|billion|trillion|dozens?|score|hal(?:f|ves)|thirds?|quarters?|fifths?
    |or|and|if|else|when|where|for|to|through|between|from|until|plus|minus|times|divided|over|more|less|fewer|greater
    |least|most|not|no|non|never|maybe|perhaps|possibly|about|around|approximately|roughly|nearly|almost|negative
    |positive|but|except|is|are|was|be|i|think|hope|either|neither|any|all|every|each|mod|modulo|base|squared|cubed
    |factorial|root|pi|e|vs|versus|up|down|above|below|under|exceeding|odd|even|oder|ou|than|unless|wrong|incorrect
    |(?:ten|hundred|thousand|million|billion)ths?|lakhs?|crores?|myriads?|gross|couples?|pairs?|googol|seconds?\s+power
    |sixths?|sevenths?|eighths?|ninths?|twelfths?|twentieths?|thirteen|fourteen|fifteen|thirty|fifty|sixty|ninety
    |something|anything|nothing|none|etc|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|forty
    |power|exponent|percent|degrees?|gold|answer)(?![A-Za-z])""",
    re.VERBOSE | re.IGNORECASE,
)
_MEASURES = frozenset({"square", "squared", "cubic", "cubed", "sq", "cu"})
_MEASURE = re.compile(r"(?<![A-Za-z])(?:square|cubic|squared|cubed|degrees?)(?![A-Za-z])", re.IGNORECASE)
_UNIT = re.compile(r"(?:[A-Za-z]+\d?(?![A-Za-z\d])|\^\{?-?\d\}?|[\s/.*'$€£¥-])*", re.ASCII)
_MAX_WORDS = 4


def as_choice(text: str) -> Text | None:
    """The letter of '(B)', '(B) 42' or '\\text{(B)}' as text, else None. A bare 'B' is left to be a name."""
    match = _CHOICE.fullmatch(text)
    if not match:
        return None
    rest = match.group(2) or ""
    return None if _LETTER.search(rest) or _UNSAID.search(rest) else Text(match.group(1))


def as_text(text: str) -> Text | None:
    """An answer that is words throughout, in one spelling; None for an expression, a list of names, or a number."""
    bare = _TEXT.sub(lambda match: f" {match.group(1)} ", text)
    words = " ".join(re.sub(r"[\"]", "", bare).split()).strip(" .!?")
    option = _OPTION.fullmatch(words)
    if option and len(words) > 1:
        return Text(option.group(1))
    if not _WORDY.fullmatch(words):
        return None
    runs = _RUN.findall(words)
    marked = bool(_TEXT.search(text))
    if marked and len(words) == 1:
        return Text(words)
    if (
        any(run in _MATHS for run in runs)
        and not marked
        and not any(len(run) > 3 and run not in _MATHS for run in runs)
    ):
        return None
    said = any(len(run) > 3 or is_word(run) or run.casefold() in _TRUTH for run in runs)
    return Text(words.casefold()) if (said or marked) and words else None


def unsaid(unit: str) -> bool:
    """Whether the words beside a number may change what is said ('million', 'or more', 'not'), so are no unit."""
    found = _UNSAID.search(_MEASURE.sub(" ", unit))
    runs = _RUN.findall(unit)
    if not _UNIT.fullmatch(unit) or any(len(run) == 1 and run not in LETTERS for run in runs):
        return True
    return found is not None or len(runs) > _MAX_WORDS or all(run.casefold() in _MEASURES for run in runs)


def is_word(run: str) -> bool:
    """Whether three letters are a word rather than a product of variables: a vowel, and not in alphabetical order."""
    return len(run) == 3 and _VOWEL.search(run) is not None and list(run) != sorted(run)
