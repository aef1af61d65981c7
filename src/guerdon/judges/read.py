"""Reading what a judge wrote: strictly, since a wrong reading is a wrong reward. What does not fit is a failure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from guerdon.judges.outcome import Failure, Reply

_NUMBER = re.compile(r"([+-]?[0-9]{1,9}(?:\.[0-9]{1,9})?)(?:\s*/\s*([0-9]{1,9}))?")
_MARKS = re.compile(r"[*`]|^[\s#_]+|[\s_]+$")
_CRITERION = re.compile(r"([0-9]{1,6})\s*[:.)]\s*(yes|no|unsure)\.?", re.IGNORECASE)
_ANSWERS = {"yes": True, "no": False, "unsure": None}
_CHOICES = {"A": 1.0, "B": 0.0, "TIE": 0.5}
_SHOWN = 160


def read_grade(reply: Reply, low: float, high: float) -> float | Failure:
    """The number of the last line `GRADE: n`, within [low, high]; `n/high` is read as n."""
    said = _last(reply, "GRADE", f"GRADE: <{low:g} to {high:g}>")
    if isinstance(said, Failure):
        return said
    found = _NUMBER.fullmatch(said)
    if found is None or (found[2] is not None and float(found[2]) != high):
        return _unfit(reply, f"GRADE: <{low:g} to {high:g}>")
    grade = float(found[1])
    if not low <= grade <= high:
        return Failure("format", f"the grade is {grade:g}; expected {low:g} to {high:g}")
    return grade


def read_choice(reply: Reply) -> float | Failure:
    """What the reply shown first is worth: 1 for `CHOICE: A`, 0 for `CHOICE: B`, 0.5 for `CHOICE: TIE`."""
    said = _last(reply, "CHOICE", "CHOICE: A, B or TIE")
    if isinstance(said, Failure):
        return said
    found = _CHOICES.get(said.upper())
    return _unfit(reply, "CHOICE: A, B or TIE") if found is None else found


def read_criteria(reply: Reply, count: int) -> list[bool | None] | Failure:
    """An answer for each of `count` criteria; None for unsure, for none given, and for two that contradict."""
    said: dict[int, set[bool | None]] = {}
    for line in _lines(reply.text):
        if found := _CRITERION.fullmatch(line):
            said.setdefault(int(found[1]), set()).add(_ANSWERS[found[2].lower()])
    wrong = [number for number in said if not 1 <= number <= count]
    if wrong:
        return Failure("format", f"it answers criterion {wrong[0]}; there are 1 to {count}")
    if not said:
        return _unfit(reply, f"a line '<number>: yes', 'no' or 'unsure' for each of {count} criteria")
    answers = [said.get(number, {None}) for number in range(1, count + 1)]
    return [next(iter(answer)) if len(answer) == 1 else None for answer in answers]


def as_label(reply: Reply, labels: Sequence[str]) -> str | Failure:
    """The one label that is the whole reply."""
    said = "\n".join(_lines(reply.text))
    return said if said in labels else _unfit(reply, f"one of {list(labels)}")


def _last(reply: Reply, word: str, expected: str) -> str | Failure:
    """What stands after 'WORD:' on the last line, unless another such line says something else."""
    lines = _lines(reply.text)
    starts = [line[len(word) + 1 :].strip().removesuffix(".") for line in lines if line.upper().startswith(word + ":")]
    if not lines or not lines[-1].upper().startswith(word + ":"):
        return _unfit(reply, f"a last line {expected}")
    if len({said.upper() for said in starts}) > 1:
        return Failure("format", f"it says {word} more than once, differently: {starts[:4]}")
    return starts[-1]


def _lines(text: str) -> list[str]:
    """Lines that say something, without thoughts before them and marks of bold, code and headings in them."""
    after = text.rpartition("</think>")[2]
    return [line for line in (_MARKS.sub("", line).strip() for line in after.split("\n")) if line]


def _unfit(reply: Reply, expected: str) -> Failure:
    text = reply.text.strip()
    shown = text if len(text) <= _SHOWN else "..." + text[-_SHOWN:]
    cut = "; it was cut at the limit of tokens, raise max_new_tokens" if reply.cut else ""
    return Failure("format", f"it wrote {shown!r}; expected {expected}{cut}")
