"""Answers in words: choice letters, and text compared as text; and words beside a number that are no unit."""

from __future__ import annotations

import re

from guerdon.rewards.verify.math.values import Text

_CHOICE = re.compile(
    r"(?:\\text\s*\{\s*)?\(\s*(?:\\text\s*\{\s*)?([A-J])\s*\}?\s*\)(?:\s*\})?(?:[\s.:]+\S.*)?", re.ASCII | re.S
)
_OPTION = re.compile(r"(?:option|choice|answer)?\s*(?:\\text\s*\{\s*)?\(?([A-J])\)?\s*[.:]?\s*\}?", re.ASCII)
_TEXT = re.compile(r"\\text\s*\{([^{}]*)\}")
_WORDY = re.compile(r"[A-Za-z][A-Za-z'\- ,.&\"!?]*", re.ASCII)
_RUN = re.compile(r"[A-Za-z]+", re.ASCII)
_VOWEL = re.compile(r"[aeiouy]", re.IGNORECASE)
_MATHS = frozenset(
    "sin cos tan cot sec csc ln log sqrt frac pi inf infinity oo exp max min gcd lcm cup and or in".split()
)
_TRUTH = {"yes": "yes", "no": "no", "true": "true", "false": "false"}

_UNSAID = re.compile(
    r"""(?<![A-Za-z])(?:hundred|thousand|million|billion|trillion|dozens?|score|hal(?:f|ves)|thirds?|quarters?|fifths?
    |or|and|if|else|when|where|for|to|through|between|from|until|plus|minus|times|divided|over|more|less|fewer|greater
    |least|most|not|no|non|never|maybe|perhaps|possibly|about|around|approximately|roughly|nearly|almost|negative
    |positive|but|except|is|are|was|be|i|think|hope|either|neither|any|all|every|each|mod|modulo|base|squared|cubed
    |factorial|root|pi|e|vs|versus|up|down|above|below|under|exceeding|odd|even|oder|ou|than|unless|wrong|incorrect
    |something|anything|nothing|none|etc|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|forty
    |power|exponent|percent|degrees?|gold|answer)(?![A-Za-z])""",
    re.VERBOSE | re.IGNORECASE,
)
_MEASURE = re.compile(r"(?<![A-Za-z])(?:square|cubic|squared|cubed|degrees?)(?![A-Za-z])", re.IGNORECASE)
_MAX_WORDS = 4


def as_choice(text: str) -> Text | None:
    """The letter of '(B)', '(B) 42' or '\\text{(B)}' as text; None for anything else. A bare 'B' is left to be a name."""
    match = _CHOICE.fullmatch(text)
    return Text(match.group(1)) if match else None


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
    marked = bool(_TEXT.search(text)) and len(words) > 1
    if (
        any(run in _MATHS for run in runs)
        and not marked
        and not any(len(run) > 3 and run not in _MATHS for run in runs)
    ):
        return None
    said = any(len(run) > 3 or (len(run) == 3 and _VOWEL.search(run[1:])) or run.casefold() in _TRUTH for run in runs)
    return Text(words.casefold()) if (said or marked) and words else None


def unsaid(unit: str) -> bool:
    """Whether the words beside a number may change what is said ('million', 'or more', 'not'), so are no unit."""
    found = _UNSAID.search(_MEASURE.sub(" ", unit))
    return found is not None or len(_RUN.findall(unit)) > _MAX_WORDS
