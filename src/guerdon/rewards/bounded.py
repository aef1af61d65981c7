"""Run a blocking function without blocking the event loop, and stop waiting for it after a while."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def bounded(function: Callable[[], T], timeout: float) -> T:
    """The function's result, computed in a daemon thread of its own; what it raises is raised here.

    timeout: seconds, from the start of the thread. TimeoutError when they have passed. The thread cannot be killed:
    one that hangs goes on in the background until the process ends, and one that computes with huge integers in C
    may hold up the whole process. What must be killable belongs in a process.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[tuple[T | None, BaseException | None]] = loop.create_future()

    def deliver(value: T | None, error: BaseException | None) -> None:
        if not outcome.done():
            outcome.set_result((value, error))

    def work() -> None:
        value, error = None, None
        try:
            value = function()
        except BaseException as raised:  # handed over to whoever waits, cancellation included
            error = raised
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(deliver, value, error)

    threading.Thread(target=work, name="guerdon-bounded", daemon=True).start()
    done, _ = await asyncio.wait({outcome}, timeout=timeout)
    if not done:
        raise TimeoutError(f"no result after {timeout:g} s")
    value, error = outcome.result()
    if error is not None:
        raise error
    return value  # type: ignore[return-value]
