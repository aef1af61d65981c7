"""What a call in another process may use, and what came of it. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["done", "raised", "timed_out", "over_limit", "died"]


@dataclass(frozen=True)
class Limits:
    """What one call may use. None: no limit.

    seconds: wall time from the moment a worker takes the call up, waiting in the queue not included. cpu_seconds: of
    the worker's own computing. memory: bytes that the worker process may allocate in all. result: bytes of the answer
    as JSON. output: bytes of what it prints that are kept; the rest is read and thrown away.
    """

    seconds: float = 10.0
    cpu_seconds: float | None = None
    memory: int | None = 4 * 2**30
    result: int = 16 * 2**20
    output: int = 2**16

    def __post_init__(self) -> None:
        for name in ("seconds", "cpu_seconds", "memory", "result"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} is {value}; expected more than 0")


@dataclass(frozen=True)
class Outcome:
    """How one call ended.

    status: done (`value` is its result); raised (`reason` has the exception with file and line); timed_out (wall or CPU
    time); over_limit (memory or size of the result); died (the process ended: exit, signal, crash).
    value: plain JSON data. output: what it printed, cut to the limit. seconds: that it ran. id: of the call.
    """

    status: Status
    value: Any = None
    reason: str = ""
    output: str = ""
    seconds: float = 0.0
    id: str = ""

    @property
    def ok(self) -> bool:
        return self.status == "done"
