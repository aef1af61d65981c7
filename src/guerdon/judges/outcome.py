"""What asking a judge comes to: a value of a known form, or a failure with its cause. A failure is never a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

from guerdon.types import Verdict

T = TypeVar("T")

Cause = Literal["network", "timeout", "status", "empty", "format", "prompt", "budget"]
CAUSES: tuple[Cause, ...] = get_args(Cause)
"""network: no connection, or it broke; timeout: no answer in time; status: the server refused; empty: an answer without
text; format: not what was asked for; prompt: it does not fit the model; budget: not asked, for want of money."""


class JudgeStopped(RuntimeError):
    """Asking on makes no sense. It says something about the judge and nothing about an episode: a run should end."""


@dataclass(frozen=True)
class Failure:
    """Why there is no value. what: in words, with the remedy where one is known."""

    cause: Cause
    what: str

    def __str__(self) -> str:
        return f"{self.cause}: {self.what}"

    @classmethod
    def of(cls, verdict: Verdict | None) -> Failure:
        """The failure that a verdict tells of (see `verdict`); of any other, that it is no judgement."""
        cause, _, what = (verdict.reason if verdict else "").partition(": ")
        known = next((one for one in CAUSES if one == cause), None)
        return cls(known, what) if known else cls("format", verdict.reason if verdict else "no judgement was made")

    @property
    def verdict(self) -> Verdict:
        """The judge's own failure; what it is worth is said by `Worth` (nothing, for a judge)."""
        return Verdict("timed_out" if self.cause == "timeout" else "failed", str(self), stage="judge")


@dataclass(frozen=True)
class Reply:
    """Text that a judge wrote. cut: it ended at the limit of tokens, not by itself."""

    text: str
    cut: bool = False


@dataclass(frozen=True)
class Labels:
    """Probabilities over a fixed set of labels, summing to 1. mass: what the set had of all that could be said, in
    (0, 1]; where it is small the judge wanted to say something else."""

    probabilities: Mapping[str, float]
    mass: float

    @classmethod
    def of(cls, weights: Mapping[str, float]) -> Labels | Failure:
        """From unnormalised probabilities. A failure where none of the labels has any."""
        mass = sum(weights.values())
        if not mass > 0:
            return Failure("format", f"none of the labels {list(weights)} is among what the judge would say")
        return cls({label: weight / mass for label, weight in weights.items()}, min(mass, 1.0))


@dataclass(frozen=True)
class Preference:
    """How far the first of two replies was preferred, every vote cast in both orders.

    first: mean over votes and orders of 1 (the first), 0.5 (a tie), 0 (the second). flipped: share of votes in which
    the choice followed the place and not the reply; with sampled votes chance has its part in it. votes: readable in
    both orders; a vote read in one order only is not counted, since it would favour a place.
    """

    first: float
    flipped: float
    votes: int

    @classmethod
    def of(cls, votes: Sequence[tuple[float | Failure, float | Failure]]) -> Preference | Failure:
        """From votes as (what the reply shown first was worth: the first reply first, the second reply first)."""
        both = [(a, 1 - b) for a, b in votes if not isinstance(a, Failure) and not isinstance(b, Failure)]
        if not both:
            return next(one for vote in votes for one in vote if isinstance(one, Failure))
        mean = sum(a + b for a, b in both) / (2 * len(both))
        return cls(mean, sum(abs(a - b) == 1 for a, b in both) / len(both), len(both))
