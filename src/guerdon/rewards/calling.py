"""Calling a user's function: here, or in a process that can be killed. It answers, or `CallFailed` says why."""

from __future__ import annotations

import asyncio
import functools
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from guerdon.pool.outcome import Limits
from guerdon.pool.pool import shared
from guerdon.rewards.bounded import bounded
from guerdon.types import Score, Verdict

F = TypeVar("F", bound=Callable[..., Any])

TIMEOUT = 10.0
"""Seconds a user's function may take for one call."""

_MARK = "guerdon_in_process"


def in_process(function: F) -> F:
    """Decorates a reward function that has to live in the run's own process, because it keeps a model or a memory.

    It is called in a thread then, which cannot be killed: a hang goes on beside the run until the run ends.
    """
    setattr(function, _MARK, True)
    return function


class CallFailed(Exception):
    """A user's function gave no value. status: the verdict on it, `timed_out` or `failed`."""

    def __init__(self, status: Literal["timed_out", "failed"], why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


class Caller(Protocol):
    """Calls one function; `what` goes to the parameter named like its style. parallel: several calls at once help."""

    @property
    def function(self) -> Callable[..., Any]: ...
    @property
    def parallel(self) -> bool: ...
    async def __call__(self, style: str, what: Any, columns: Mapping[str, Any]) -> Any: ...


@dataclass(frozen=True)
class Here:
    """In this process: an async function in the event loop, any other in a thread of its own. timeout: seconds."""

    function: Callable[..., Any]
    timeout: float

    @property
    def parallel(self) -> bool:
        return is_async(self.function)

    async def __call__(self, style: str, what: Any, columns: Mapping[str, Any]) -> Any:
        parameter = inspect.signature(self.function).parameters[style]
        args = (what,) if parameter.kind is parameter.POSITIONAL_ONLY else ()
        given = columns if args else {style: what, **columns}
        try:
            if is_async(self.function):
                return await asyncio.wait_for(self.function(*args, **given), self.timeout)
            result = await bounded(lambda: self.function(*args, **given), self.timeout)
            return await asyncio.wait_for(result, self.timeout) if inspect.isawaitable(result) else result
        except TimeoutError as error:
            raise CallFailed("timed_out", f"no answer within {self.timeout:g} s") from error
        except (Exception, SystemExit) as error:
            raise CallFailed("failed", f"it raised {type(error).__name__}: {error} ({_place(error)})") from error


@dataclass(frozen=True)
class Elsewhere:
    """In a worker of the pool, which is killed when it takes too long, and replaced when it dies.

    function: the same one as it is in this process, for its signature. place: path/to/file.py:function, absolute.
    What it prints is shown on standard error.
    """

    function: Callable[..., Any]
    place: str
    timeout: float
    parallel = True

    async def __call__(self, style: str, what: Any, columns: Mapping[str, Any]) -> Any:
        limits = Limits(seconds=self.timeout)
        outcome = await shared().run(
            "guerdon.rewards.remote:call", self.place, style, what, dict(columns), limits=limits
        )
        if outcome.output:
            print(outcome.output, end="", file=sys.stderr)
        if outcome.status == "timed_out":
            raise CallFailed("timed_out", outcome.reason)
        if not outcome.ok:
            raise CallFailed("failed", f"it raised {outcome.reason}" if outcome.status == "raised" else outcome.reason)
        return _value(outcome.value)


@dataclass(frozen=True)
class Foreign:
    """A value that is no number, None, score or list of those, as another process showed it."""

    shown: str
    kind: str

    def __repr__(self) -> str:
        return self.shown


def _value(plain: Any) -> Any:
    """What `remote.plain` wrote down."""
    if isinstance(plain, list):
        return [_value(one) for one in plain]
    if not isinstance(plain, dict):
        return plain
    if "scalar" in plain:
        return plain["scalar"]
    if "shown" in plain:
        return Foreign(plain["shown"], plain["type"])
    score = plain["score"]
    return Score(
        value=score["value"],
        spans=dict(score["spans"]),
        tokens=dict(score["tokens"]),
        verdict=None if score["verdict"] is None else Verdict(**score["verdict"]),
        parts=score["parts"],
    )


def caller(function: Callable[..., Any], timeout: float, place: str | None = None) -> Caller:
    """Where a function is called. place: its file and name, if it has one; such a function runs in a worker, unless it
    is async, asks for the rollout's `context`, or is marked `in_process`."""
    stays = is_async(function) or getattr(function, _MARK, False)
    if place is None or stays or "context" in inspect.signature(function).parameters:
        return Here(function, timeout)
    path, _, name = place.rpartition(":")
    return Elsewhere(function, f"{Path(path).expanduser().resolve()}:{name}", timeout)


def is_async(function: Callable[..., Any]) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _place(error: BaseException) -> str:
    """File and line where it was raised."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}, line {last.lineno}"
