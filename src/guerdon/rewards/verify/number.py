"""The last number of a reply against the answer: signs, separators, fractions and powers read with care.

Numbers are read from text by one scanner and kept as exact fractions; nothing is ever evaluated as code.
"""

from __future__ import annotations

import numbers
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from guerdon.rewards.verify.base import Verifier
from guerdon.rewards.verify.extract import golds, marked, plain
from guerdon.types import Verdict

if TYPE_CHECKING:
    from guerdon.types import Episode

TOLERANCE = Fraction(1, 10**6)
"""Relative tolerance where one side is a rounded decimal."""

MAX_DIGITS = 1000
"""Numbers of more digits, before or after the point, are not read: their arithmetic would hold up everything else."""


@dataclass(frozen=True)
class Number:
    """A number as it was written. decimals: digits after the point; None where exact (an integer, a ratio, a power)."""

    value: Fraction
    text: str
    decimals: int | None = None

    def equals(self, other: Number) -> bool:
        """Exact where both are exact; else within 1e-6 relatively, and two decimals agree to the digits both state
        (1234567.8 is not 1234567.9)."""
        gap = abs(self.value - other.value)
        if gap == 0:
            return True
        if self.decimals is None and other.decimals is None:
            return False
        if self.decimals is not None and other.decimals is not None:
            tolerated = Fraction(1, 10 ** min(self.decimals, other.decimals))
            return gap < tolerated and gap <= TOLERANCE * max(abs(self.value), abs(other.value))
        return gap <= TOLERANCE * max(abs(self.value), abs(other.value))


@dataclass(frozen=True)
class NumericMatch(Verifier):
    """'right' when the last number of the reply equals the answer (`task.data["answer"]`, one or a list).

    The reply is read after its last ####, else in its last <answer>...</answer>, else in its last box, else whole;
    so is the answer, which may therefore be a worked solution ending in '#### 42'. Read are signs (a hyphen right
    after a digit, letter or bracket is a range or an operation, not a sign), thousands separators, decimals, 3e5,
    3 x 10^5, 2^10, 3/4, 2 1/2 and \\frac{3}{4}; full-width digits, Unicode minus. Units and % signs are not compared.
    'no_answer' where there is no number to read; 'failed' where the answer itself holds none.
    """

    name: str = "numeric"

    async def verify(self, episode: Episode) -> Verdict:
        return self.check(episode.reply, golds(episode.task, self.name))

    def check(self, reply: str, answers: list[Any]) -> Verdict:
        wanted = [number for answer in answers if (number := read_answer(answer)) is not None]
        if not wanted:
            return Verdict("failed", f"no number in the task's answer {answers!r}", stage="gold")
        found = last_number(reply)
        if found is None:
            return Verdict("no_answer", "no number in the reply", stage="extract")
        if any(found.equals(number) for number in wanted):
            return Verdict("right", "equal to the answer", found.text, stage="number")
        return Verdict("wrong", f"expected {' or '.join(number.text for number in wanted)}", found.text, stage="number")


def read_answer(answer: Any) -> Number | None:
    """The number a stored answer means: a number as it is, text by its last number; None when there is none."""
    if isinstance(answer, Fraction):
        return Number(answer, str(answer))
    if isinstance(answer, numbers.Real) and not isinstance(answer, bool):
        return last_number(repr(int(answer) if isinstance(answer, numbers.Integral) else float(answer)))
    return last_number(str(answer))


def last_number(text: str) -> Number | None:
    """The last number in the marked part of the text (`extract.marked`), or in all of it where nothing is marked.

    None as well when the last one cannot be read (longer than MAX_DIGITS, divided by zero): an earlier is not meant.
    """
    part = marked(text)
    spelled = _respell(text if part is None else part)
    matches = list(_NUMBER.finditer(spelled))
    return _read(matches[-1], spelled) if matches else None


_UNSIGNED = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|(?<!\.)\.\d+"
_NUMBER = re.compile(
    rf"""(?<![A-Za-z0-9_^])(?<!\d\.)                           # not inside a word, a number or a power
    (?:(?P<date>\d+(?:/\d+){{2,}})                             # 12/5/2020
    |(?P<whole>\d+)\s+(?P<top>\d+)/(?P<bottom>\d+)(?![\d/.])   # 2 1/2
    |(?P<first>{_UNSIGNED})(?:e(?P<e>[-+]?\d+)(?![\w.]))?      # 1,234.5  3e5
     (?:\s?(?:\\times|\\cdot|[×·*x])\s?10\^\{{?(?P<ten>[-+]?\d+)\}}?   # 3 x 10^5
       |\^\{{?(?P<power>[-+]?\d+)\}}?                          # 2^10
       |\s?/\s?(?P<over>\d+(?:\.\d+)?)(?![\d/])                # 3/4
     )?)""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_FRACTION = re.compile(r"(\d?)\s?\\[dt]?frac\s*(?:\{\s*(-?[\d.]+)\s*\}|(\d))\s*(?:\{\s*([\d.]+)\s*\}|(\d))", re.ASCII)
_VULGAR = re.compile(r"(?<=\d)(?=[\u00bc-\u00be\u2150-\u215e])")
_RAISED = re.compile(r"\u207b?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]+")
_SEPARATOR = re.compile(r"(?<=\d)(?:\{,\}|,\\!|\\,|\\ |['’\u00a0\u2009\u202f])(?=\d{3}(?!\d))", re.ASCII)
_POWER_OF_WORD = re.compile(r"(?<![\d\s])\s*\^\s*(?:\{[^{}]*\}|[-+]?[A-Za-z0-9]+)", re.ASCII)


def _respell(text: str) -> str:
    """One spelling for what can be written in several: separators, fractions, raised digits, minus signs."""
    text = _SEPARATOR.sub("", text)
    text = _RAISED.sub(lambda match: f"^{match.group()}", _VULGAR.sub(" ", text))
    text = _SEPARATOR.sub("", plain(text))
    text = _FRACTION.sub(_flat_fraction, text)
    return _POWER_OF_WORD.sub("", text)


def _flat_fraction(match: re.Match[str]) -> str:
    before, top, short_top, bottom, short_bottom = match.groups()
    return f"{before}{' ' if before else ''}{top or short_top}/{bottom or short_bottom}"


def _read(match: re.Match[str], text: str) -> Number | None:
    """The number of a match, None where it is none (a division by zero, too long to compute with)."""
    part = match.groupdict()
    size = sum(abs(int(part[key])) for key in ("e", "ten") if part[key] and len(part[key]) < 9) + len(match.group())
    if part["power"] is not None:
        size += len(part["first"]) * (abs(int(part["power"])) if len(part["power"]) < 9 else MAX_DIGITS)
    if size > MAX_DIGITS or any(len(part[key] or "") >= 9 for key in ("e", "ten")):
        return None
    try:
        value, decimals = _value(part)
    except ZeroDivisionError:
        return None
    sign = "-" if _negative(text, match.start()) else ""
    written = part["date"].rsplit("/", 1)[1] if part["date"] else match.group().strip()
    return Number(-value if sign else value, sign + written, None if value.denominator == 1 else decimals)


def _value(part: dict[str, str | None]) -> tuple[Fraction, int | None]:
    if part["date"]:
        return Fraction(part["date"].rsplit("/", 1)[1]), None
    if part["whole"]:
        return Fraction(part["whole"]) + Fraction(f"{part['top']}/{part['bottom']}"), None
    written = (part["first"] or "").replace(",", "")
    exponent = int(part["e"] or 0) + int(part["ten"] or 0)
    value = Fraction(written) * Fraction(10) ** exponent
    if part["power"]:
        return value ** int(part["power"]), None
    if part["over"]:
        return value / Fraction(part["over"]), None
    decimals = len(written.partition(".")[2]) - exponent
    return value, max(decimals, 0)


def _negative(text: str, start: int) -> bool:
    """Whether the number at `start` has a minus sign, as opposed to a range, a hyphenated word or a subtraction."""
    before = text[max(0, start - 12) : start].rstrip("$€£¥\\")
    if before.endswith("-"):
        left = before[:-1]
        return not left or not (left[-1].isalnum() or left[-1] in ")]}")
    spaced = before.rstrip()
    return spaced.endswith("-") and spaced[:-1].rstrip()[-1:] in tuple("=:([{")
