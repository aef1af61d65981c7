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
from guerdon.rewards.verify.math.prose import END, has_words, last_answer, stated


@dataclass(frozen=True)
class Found:
    """A stretch of text that may be the answer, and what marked it."""

    text: str
    way: str


_PHRASE = re.compile(r"(?:\banswer(?:\s+is|\s*:|\s*=)|\banswer\b[^.\n$]{0,60}?\bis\b)\s*[:=]?", re.IGNORECASE)


def candidates(reply: str) -> Iterator[Found]:
    """Stretches to try, best first. A marked answer is the only candidate: an earlier number is not meant."""
    text = reply.rsplit("</think>", 1)[-1]
    marked = _marked(text)
    if marked is not None:
        yield marked
        return
    phrase = _after_phrase(text)
    yield from _in_words(text.strip(), "whole") if phrase is None else _in_words(phrase, "phrase")


def _marked(text: str) -> Found | None:
    for way, find in (("box", boxed), ("tag", tagged), ("hashes", after_hashes)):
        found = find(text)
        if found is not None:
            return Found(found, way)
    return None


def _after_phrase(text: str) -> str | None:
    start = None
    for match in _PHRASE.finditer(text):
        start = match.end()
    if start is None:
        return None
    rest = text[start:].strip()
    end = END.search(rest)
    return (rest[: end.start()] if end else rest).strip(" *:")


def _in_words(text: str, way: str) -> Iterator[Found]:
    """The text itself, and where it has words, what they say the answer is."""
    worded = has_words(text)
    if len(text) <= MAX_LENGTH or not worded:
        yield Found(text, way)
    if not worded:
        return
    if way == "phrase":
        number = stated(text)
        if number is not None:
            yield Found(number, way)
        return
    found = last_answer(text)
    if found is not None:
        yield Found(*found)
