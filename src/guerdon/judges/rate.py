"""When the next request may be sent, and how long to wait before one is repeated. Time comes from outside."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import Random

WINDOW = 60.0
FIRST_WAIT = 0.5
"""Seconds before the first repetition; doubled for each further one."""


@dataclass(eq=False)
class Clock:
    """Seconds that pass, and waiting for them; replaced in tests. random: jitter, apart from a run's random numbers."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    random: Callable[[], float] = field(default_factory=lambda: Random().random)


class Rate:
    """At most `per_minute` starts in any 60 seconds, in the order asked for; None: no limit. `hold` delays all."""

    def __init__(self, per_minute: int | None, clock: Clock) -> None:
        if per_minute is not None and per_minute < 1:
            raise ValueError(f"the judge may be asked {per_minute} times per minute; expected at least 1")
        self._clock = clock
        self._starts: deque[float] | None = deque(maxlen=per_minute) if per_minute else None
        self._closed_until = float("-inf")

    async def wait(self) -> None:
        """Until this request may start. A place that was given stays given when the caller is cancelled."""
        if (start := self._start()) > self._clock.now():
            await self._clock.sleep(start - self._clock.now())
        while (rest := self._closed_until - self._clock.now()) > 0:
            await self._clock.sleep(rest)

    def hold(self, seconds: float) -> None:
        """The server wants a pause: nobody starts before it is over."""
        self._closed_until = max(self._closed_until, self._clock.now() + seconds)

    def _start(self) -> float:
        start = max(self._clock.now(), self._closed_until)
        if self._starts is None:
            return start
        if len(self._starts) == self._starts.maxlen:
            start = max(start, self._starts[0] + WINDOW)
        self._starts.append(start)
        return start


def backoff(attempt: int, most: float, random: float) -> float:
    """Seconds before repetition `attempt` (from 0): doubling, at most `most`; random in [0, 1) takes up to half off."""
    return float(min(FIRST_WAIT * 2**attempt, most) * (1 - random / 2))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait: `retry-after-ms`, or `Retry-After` as seconds or as a date. None: nothing."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if text and (seconds := _seconds(text, unit)) is not None:
            return max(0.0, seconds)
    return None


def _seconds(text: str, unit: float) -> float | None:
    try:
        number = float(text) / unit
        return number if number - number == 0 else None
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - datetime.now(UTC).timestamp()
