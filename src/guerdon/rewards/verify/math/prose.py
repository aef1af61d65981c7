"""The answer in a text with words and without marks: its last mathematics, else its last number, read with distrust.

A number is only taken where it stands by itself: not in brackets, quotes or code, not beside an operator or in a list,
and not in a sentence that hedges ('not 42', 'between 42 and 43', 'half of 42').
"""

from __future__ import annotations

import re

from guerdon.rewards.verify.number import last_number

END = re.compile(r"\.(?=\s|$)|\n")
"""The end of a sentence."""

_WORD = re.compile(r"[A-Za-z]{3,}")
_COMMAND = re.compile(r"\\(?:begin|end)\s*\{[^{}]*\}|\\text\s*\{[^{}]*\}|\\[A-Za-z]+")
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"(?P<sign>[-−+])?[$£€¥]?\d[\d,.]*(?:\s?/\s?\d+(?![\d/]))?%?")
_MATH = re.compile(
    r"\$\$([^$]{1,2000})\$\$|(?<![\\$])\$([^$\n]{1,1000}?)(?<!\\)\$|\\\(([^\n]{1,1000}?)\\\)|\\\[(.{1,2000}?)\\\]", re.S
)
_LISTED = re.compile(r"\d(?:\s*(?:,|;|and|or|to|and/or|versus|vs)\s+|\s+)[$-]?\d[\d,.]*\D*$")
_OPERATORS = tuple("+-−*/^×·÷<>≤≥≠±(,_&|~")
_FILLERS = re.compile(
    r"(?:(?:the|a|an|equal|equals|to|simply|just|exactly|therefore|thus|then|hence|indeed|clearly|number|value|integer"
    r"|only|now)\s+)*",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"""\b(?:not|never|no|none|or|either|neither|between|below|above|under|less|more|fewer|greater|least|most|maybe
    |perhaps|guess|possible|possibly|possibilities|could|might|unsure|roughly|about|approximately|around|nearly|almost
    |unless|except|than|wrong|incorrect|if|cannot|but|anything|half|twice|double|triple|times|plus|minus|squared|cubed
    |over|pi|root|power|exponent|negative|log|logarithm|inverse|reciprocal|divided|instead|rather|until|beyond|exceeds?)\b|n't\b|[?<>≤≥≠±]""",
    re.VERBOSE | re.IGNORECASE,
)
_QUALIFIER = re.compile(
    r"""\b(?:(?:ten|hundred|thousand|million|billion)ths?|lakhs?|crores?|gross|pairs?|couples?|hundred|thousand|million|billion|trillion|dozens?|score|half|halves|thirds?|quarters?|percent|of|to|through|by
    |squared|cubed|factorial|modulo|mod|base|degrees?\sof)\b""",
    re.VERBOSE | re.IGNORECASE,
)


def has_words(text: str) -> bool:
    """Whether there is a word outside LaTeX commands."""
    return _WORD.search(_COMMAND.sub(" ", text)) is not None


def last_answer(text: str) -> tuple[str, str] | None:
    """The last mathematics between delimiters ('dollars'), or the last number ('number'); None where neither is said
    plainly."""
    spans = list(_MATH.finditer(text))
    if spans:
        return _math(text, spans[-1], "dollars")
    sentence = next((part for part in reversed(END.split(text)) if _DIGIT.search(part)), "")
    sentence = _plain(sentence).rsplit("=", 1)[-1]
    found = list(_NUMBER.finditer(sentence))
    if "\\" in sentence or not found or _HEDGE.search(sentence) or _LISTED.search(sentence):
        return None
    number = _alone(sentence, found[-1])
    return None if number is None else (number, "number")


def stated(text: str) -> str | None:
    """The mathematics or number that begins what follows 'the answer is'; None where something else does."""
    start = _FILLERS.match(text)
    position = start.end() if start else 0
    spans = list(_MATH.finditer(text))
    if spans:
        found = _math(text, spans[0], "") if len(spans) == 1 and spans[0].start() == position else None
        return found[0] if found else None
    text = _plain(text)
    number = _NUMBER.match(text, position)
    if number is None or "\\" in text or _HEDGE.search(text):
        return None
    return _alone(text[position:], _NUMBER.match(text[position:]))


def _plain(text: str) -> str:
    return text.replace("**", "").replace("\\$", "$").replace("\\%", "%").strip()


def _math(text: str, span: re.Match[str], way: str) -> tuple[str, str] | None:
    before, after = END.split(text[: span.start()])[-1], END.split(text[span.end() :])[0]
    if _HEDGE.search(before) or _HEDGE.search(after) or _qualified(after):
        return None
    return next(group for group in span.groups() if group is not None), way


def _qualified(after: str) -> bool:
    """Whether the next words change a number ('million', 'of', 'factorial')."""
    return _QUALIFIER.search(" ".join(after.split()[:2])) is not None


def _alone(text: str, match: re.Match[str] | None) -> str | None:
    """The number, where nothing beside it takes part in it."""
    if match is None:
        return None
    before, after = text[: match.start()], text[match.end() :]
    number = match.group()
    if match.group("sign") and before[-1:].isdigit():
        before, number = "", number[1:]
    behind = before.rstrip()
    if before and not (before[-1].isspace() or before[-1] in ":$£€"):
        return None
    if behind.endswith(_OPERATORS) or behind[-1:].isdigit() or re.search(r"(?:^|\W)[b-zB-Z]$", behind):
        return None
    if re.match(r"[A-Za-z](?![A-Za-z])|[()'\"\]}^_*/+×·!]|\s*[-+*/^×·=]", after) or _qualified(after):
        return None
    read = last_number(number)
    return None if read is None else read.text
