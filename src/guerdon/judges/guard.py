"""When a judge fails too often to go on: a share of its last answers, as a condition to stop."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from guerdon.judges.outcome import Failure, JudgeStopped


class TooManyJudgeFailures(JudgeStopped):
    """So many of a judge's last calls failed that what it still says would be a selection."""


@dataclass(eq=False)
class Guard:
    """Watches the last `window` calls, and stops when more than `max_share` of them failed; never before `least`."""

    max_share: float = 0.5
    window: int = 50
    least: int = 10
    _last: deque[Failure | None] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.max_share <= 1:
            raise ValueError(f"the share of failures that stops a judge is {self.max_share}; expected 0 to 1")
        if not 1 <= self.least <= self.window:
            raise ValueError(f"least is {self.least} of a window of {self.window} calls; expected 1 to {self.window}")
        self._last = deque(maxlen=self.window)

    def note(self, failure: Failure | None) -> None:
        """One more call: its failure, or None for a value. TooManyJudgeFailures says which causes, and the latest."""
        self._last.append(failure)
        failed = [one for one in self._last if one is not None]
        if failure is None or len(self._last) < self.least or len(failed) <= self.max_share * len(self._last):
            return
        causes = ", ".join(f"{cause} {n}" for cause, n in Counter(one.cause for one in failed).most_common())
        raise TooManyJudgeFailures(
            f"{len(failed)} of the judge's last {len(self._last)} calls failed (limit {self.max_share:.0%}): {causes}. "
            f"Latest: {failure}"
        )
