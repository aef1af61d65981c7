"""Grading one reply against one answer, in stages: extract, normalise, parse, compare. Plain data in and out.

Everything here is synchronous and pure, and may run long on a hostile reply whatever is bounded, so that it belongs
into a process that can be killed. Nothing is evaluated as code, and no text becomes an object of a computer algebra
system; what is not understood in full is 'cannot_tell'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from guerdon.rewards.verify.math.compare import compare
from guerdon.rewards.verify.math.find import candidates
from guerdon.rewards.verify.math.lexer import MAX_LENGTH
from guerdon.rewards.verify.math.normal import normal
from guerdon.rewards.verify.math.parse import parse
from guerdon.rewards.verify.math.values import CannotTellError, Quantity, SetOf, Text, Value


@dataclass(frozen=True)
class Answer:
    """An answer as it was found. text: respelled. value: None where it cannot be read, `why` then says why."""

    extracted: str
    way: str
    text: str
    value: Value | None
    why: str = ""


def grade(gold: str | Sequence[str], text: str) -> dict[str, Any]:
    """The verdict on a reply as the fields of a `Verdict`: status, reason, extracted, stage.

    gold: the answer, or several of which any may be given; bare, or a worked solution that marks it as a reply would.
    right, wrong: both were read in full and compared. no_answer: nothing to read. cannot_tell: the reply or the answer
    is not understood in full, or too large to compute, and they are not the same text. failed: an empty gold answer.
    """
    golds = [gold] if isinstance(gold, str) else list(gold)
    verdicts = [_against(one, text) for one in golds]
    if not verdicts:
        return _verdict("failed", "no answer to compare with", None, "gold")
    for status in ("right", "cannot_tell", "wrong", "no_answer", "failed"):
        for verdict in verdicts:
            if verdict["status"] == status:
                return verdict
    raise AssertionError(f"a verdict without a known status among {verdicts}")


def self_test(gold: str) -> str:
    """'' when the answer can be found, read in full and equals itself; else why not."""
    answer = read(gold)
    if answer is None:
        return "there is no answer in it"
    if answer.value is None:
        return f"{answer.extracted[:80]!r} ({answer.way}) cannot be read: {answer.why}"
    try:
        right, stage = compare(answer.value, answer.value)
    except (CannotTellError, RecursionError) as error:
        return f"{answer.extracted[:80]!r} ({answer.way}) cannot be compared: {_why(error)}"
    return "" if right else f"{answer.extracted[:80]!r} ({answer.way}) is not equal to itself ({stage})"


def _against(gold: str, text: str) -> dict[str, Any]:
    wanted, given = read(gold), read(text)
    if wanted is None:
        return _verdict("failed", "the gold answer is empty", None, "gold")
    if given is None:
        return _verdict("no_answer", "there is no answer to read", None, "extract")
    if wanted.text == given.text and (wanted.value is not None or len(wanted.text) <= MAX_LENGTH):
        return _told("right", "the same text as the answer", given, "text")
    if given.value is None:
        return _told("cannot_tell", f"not read: {given.why}", given, "parse")
    if wanted.value is None:
        return _told("cannot_tell", f"the gold answer {wanted.text[:80]!r} is not read: {wanted.why}", given, "gold")
    try:
        right, stage = _compared(wanted, given)
    except (CannotTellError, RecursionError) as error:
        return _told("cannot_tell", _why(error), given, "compare")
    if right:
        return _told("right", "equal to the answer", given, stage)
    return _told("wrong", f"expected {wanted.text[:80]!r}", given, stage)


def _compared(wanted: Answer, given: Answer) -> tuple[bool, str]:
    """The comparison; where one side is a list and the other a number with commas, those separate a list as well."""
    a, b = wanted.value, given.value
    assert a is not None
    assert b is not None
    if isinstance(a, SetOf) != isinstance(b, SetOf):
        a = _as_list(wanted) if isinstance(a, Quantity) else a
        b = _as_list(given) if isinstance(b, Quantity) else b
    return compare(a, b)


def _as_list(answer: Answer) -> Value:
    value = answer.value
    assert value is not None
    return parse(answer.text, thousands=False) if "," in answer.text else value


@lru_cache(maxsize=512)
def read(text: str) -> Answer | None:
    """The answer in a text, read as far as it can be; None where there is none."""
    first: Answer | None = None
    for found in candidates(text):
        answer = _read(found.text, found.way)
        if answer is None:
            continue
        if answer.value is not None and not (answer.way == "whole" and _has_digits(answer)):
            return answer
        first = first or answer
    return first


def _has_digits(answer: Answer) -> bool:
    return isinstance(answer.value, Text) and any(character.isdigit() for character in answer.text)


def _read(found: str, way: str) -> Answer | None:
    if not found.strip():
        return None
    if len(found) > MAX_LENGTH:
        why = f"an answer of {len(found)} characters; at most {MAX_LENGTH} are read"
        return Answer(found[:MAX_LENGTH], way, found, None, why)
    text = normal(found)
    if not text:
        return None
    try:
        return Answer(found, way, text, parse(text))
    except (CannotTellError, RecursionError) as error:
        return Answer(found, way, text, None, _why(error))


def _why(error: CannotTellError | RecursionError) -> str:
    return str(error) if isinstance(error, CannotTellError) else "operations too deep inside each other"


def _told(status: str, why: str, given: Answer, stage: str) -> dict[str, Any]:
    return _verdict(status, f"{why} (read from the {given.way})", given.extracted, stage)


def _verdict(status: str, reason: str, extracted: str | None, stage: str) -> dict[str, Any]:
    return {"status": status, "reason": reason, "extracted": extracted, "stage": stage}
