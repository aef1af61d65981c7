"""Where the answer stands in a reply, by what marks it, in this order:

    box      the last closed \\boxed{...}
    tag      the last <answer>...</answer>
    hashes   after the last ####, to the end of the line
    phrase   after the last 'the answer is' or 'final answer:', to the end of the sentence
    whole    all of it, where that can be read as one answer
    dollars  the last $...$, \\(...\\) or \\[...\\], in a text with words
    number   the last number of a text with words

Only what follows a closing </think> is looked at. The same holds for a stored answer, bare or a worked solution.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from guerdon.rewards.verify.extract import after_hashes, boxed, tagged
from guerdon.rewards.verify.math.lexer import MAX_LENGTH
from guerdon.rewards.verify.number import last_number


@dataclass(frozen=True)
class Found:
    """A stretch of text that may be the answer, and what marked it."""

    text: str
    way: str


_PHRASE = re.compile(r"(?:\banswer(?:\s+is|\s*:|\s*=)|\banswer\b[^.\n$]{0,60}?\bis\b)\s*[:=]?(?!\s*not\b)", re.IGNORECASE)
_END = re.compile(r"\.(?=\s|$)|\n|(?<!\d)\.(?=\s*$)")
_DOLLARS = re.compile(r"\$\$([^$]{1,2000})\$\$|(?<![\\$])\$([^$\n]{1,1000}?)(?<!\\)\$|\\\(([^\n]{1,1000}?)\\\)|\\\[(.{1,2000}?)\\\]", re.S)
_COMMAND = re.compile(r"\\text\s*\{[^{}]*\}|\\[A-Za-z]+")
_WORD = re.compile(r"[A-Za-z]{3,}")
_NUMBER = re.compile(r"\d")


def candidates(reply: str) -> Iterator[Found]:
    """Stretches to try, best first. A marked answer is the only candidate: an earlier number is not meant."""
    text = reply.rsplit("</think>", 1)[-1]
    marked = _marked(text)
    if marked is not None:
        yield marked
        return
    phrase = _after_phrase(text)
    if phrase is not None:
        yield from _within(phrase, "phrase")
        return
    yield from _within(text.strip(), "whole")


def _marked(text: str) -> Found | None:
    for way, find in (("box", boxed), ("tag", tagged), ("hashes", after_hashes)):
        found = find(text)
        if found is not None:
            return Found(found, way)
    return None


def _after_phrase(text: str) -> str | None:
    matches = list(_PHRASE.finditer(text))
    if not matches:
        return None
    rest = text[matches[-1].end() :].strip()
    end = _END.search(rest)
    return (rest[: end.start()] if end else rest).strip(" *:")


def _within(text: str, way: str) -> Iterator[Found]:
    """The text, and where it has words: the last mathematics in it, or its number (the only one, after a phrase)."""
    if len(text) <= MAX_LENGTH:
        yield Found(text, way)
    if not _WORD.search(_COMMAND.sub(" ", text)):
        return
    math = _last_math(text)
    if math is not None:
        yield Found(math, "dollars" if way == "whole" else way)
        return
    number = last_number(text)
    if number is not None and (way == "whole" or len(re.findall(r"\d[\d,.]*", text)) == 1):
        yield Found(number.text, "number" if way == "whole" else way)


def _last_math(text: str) -> str | None:
    found = [match for match in _DOLLARS.finditer(text) if _NUMBER.search(match.group()) or len(match.group()) < 200]
    return next((group for group in found[-1].groups() if group is not None), None) if found else None
