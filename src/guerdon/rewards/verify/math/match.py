"""The math grader as a reward: every pair is graded in a worker that can be killed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from guerdon.pool.outcome import Limits
from guerdon.pool.pool import shared
from guerdon.rewards.verify.base import Verifier
from guerdon.rewards.verify.extract import golds
from guerdon.types import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from guerdon.pool.outcome import Outcome
    from guerdon.types import Episode, Task

GRADE = "guerdon.rewards.verify.math.grade:grade"
SELF_TEST = "guerdon.rewards.verify.math.grade:self_test"

MEMORY = 2 * 2**30
"""Bytes that the worker may allocate; an ordinary pair takes a hundredth of it."""


@dataclass(frozen=True)
class MathMatch(Verifier):
    """'right' when the answer in the reply means the same as the task's answer (`task.data["answer"]`, one or a list).

    Numbers, intervals, sets, tuples, matrices, relations, expressions, units and text options are compared by what they
    mean (see `grade`). timeout: seconds for one pair; what takes longer is 'timed_out', what takes more memory
    'cannot_tell'. Both are the reply's doing, not the machine's: the clock starts when a worker starts on it.
    """

    name: str = "math"
    timeout: float = 5.0

    async def verify(self, episode: Episode) -> Verdict:
        answers = [str(gold) for gold in golds(episode.task, self.name)]
        return await self.check(episode.reply, answers)

    async def fits(self, task: Task) -> str:
        """'' when the task's answer can be read and equals itself, else why not: a right reply would not be right."""
        for gold in golds(task, self.name):
            outcome = await shared().run(SELF_TEST, str(gold), limits=Limits(seconds=self.timeout, memory=MEMORY))
            why = str(outcome.value) if outcome.ok else outcome.reason
            if why:
                return why
        return ""

    async def check(self, reply: str, answers: Sequence[str]) -> Verdict:
        """The verdict on a reply when any of these answers is right."""
        limits = Limits(seconds=self.timeout, cpu_seconds=self.timeout, memory=MEMORY)
        return verdict_of(await shared().run(GRADE, list(answers), reply, limits=limits))


def verdict_of(outcome: Outcome) -> Verdict:
    """What a call of `grade` in a worker found, or what became of it."""
    if outcome.ok:
        return Verdict(**outcome.value)
    if outcome.status == "timed_out":
        return Verdict("timed_out", f"the grader was stopped: {outcome.reason}", stage="limits")
    if outcome.status == "over_limit":
        return Verdict("cannot_tell", f"the grader was stopped: {outcome.reason}", stage="limits")
    return Verdict("failed", f"the grader failed: {outcome.reason}", stage="limits")
