"""What each verdict is worth: the one place where a status becomes a number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from guerdon.names import nearest
from guerdon.types import STATUSES, Score, Status, Verdict


@dataclass(frozen=True)
class Worth:
    """The value of each status; None: the episode gets no score, and so leaves its group's statistics and the loss.

    By default a verifier's own failure is no score, and whatever the completion is to blame for (no answer, one that
    cannot be decided, one that takes too long to check) is worth as little as a wrong answer: a policy would find out.
    partial: a wrong verdict with a `share` is worth that share of the way from `wrong` to `right`.
    """

    right: float | None = 1.0
    wrong: float | None = 0.0
    no_answer: float | None = 0.0
    cannot_tell: float | None = 0.0
    timed_out: float | None = 0.0
    failed: float | None = None
    partial: bool = False

    def value(self, verdict: Verdict) -> float | None:
        worth: float | None = getattr(self, verdict.status)
        if not (self.partial and verdict.status == "wrong" and verdict.share is not None):
            return worth
        if self.right is None or worth is None:
            return worth
        return worth + verdict.share * (self.right - worth)

    def score(self, verdict: Verdict) -> Score:
        return Score(self.value(verdict), verdict=verdict)

    def but(self, text: str) -> Worth:
        """This with what 'cannot_tell=none,wrong=-0.5,partial=yes' says. ValueError names the key and what is known."""
        return Worth(**{**{f.name: getattr(self, f.name) for f in fields(self)}, **dict(_pairs(text))})


WORTH = Worth()


def _pairs(text: str) -> Iterator[tuple[Status | str, float | bool | None]]:
    known = (*STATUSES, "partial")
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (word.strip() for word in part.partition("="))
        if name not in known:
            raise ValueError(f"there is no verdict {name!r}{nearest(name, known)}; expected {', '.join(known)}")
        yield name, _switch(value) if name == "partial" else _number(name, value)


def _switch(value: str) -> bool:
    if value.lower() not in ("yes", "no"):
        raise ValueError(f"partial is {value!r}; expected yes or no")
    return value.lower() == "yes"


def _number(name: str, value: str) -> float | None:
    if value.lower() == "none":
        return None
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if number - number != 0:
        raise ValueError(f"the worth of {name} is {value!r}; expected a finite number, or none for no score")
    return number
