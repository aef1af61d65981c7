"""The pool: calls go in from any thread or event loop, outcomes come back by id, dead workers are replaced."""

from __future__ import annotations

import asyncio
import atexit
import os
import queue
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from guerdon.pool.outcome import Limits, Outcome
from guerdon.pool.process import Call, Process

WAITING = 64
"""Calls per worker that may wait; whoever has more waits himself."""

PATIENCE = 3600.0
"""Seconds a call may wait for a worker before it is given up; far more than any call takes."""

CLEAN_EVERY = 10_000
"""Calls after which a worker is replaced by a fresh one, so that what leaks cannot add up."""


@dataclass
class _Job:
    call: Call
    future: Future[Outcome]
    since: float
    process: Process | None = None
    abandoned: bool = False

    def abandon(self) -> None:
        self.abandoned = True
        if self.process is not None:
            self.process.kill()


class Pool:
    """At most `workers` processes, started when there is work for them. Every public method is safe from any thread.

    A call that hangs, grows or crashes costs its own worker and nobody else's time. An outcome is never an exception:
    what a function raised is an `Outcome` with status 'raised'. Cancelling an `await run(...)` kills the call.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or max(1, os.cpu_count() or 1)
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._pending = 0
        self._room = threading.BoundedSemaphore(self.workers * WAITING)
        self._rooms: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
        self._open: set[Process] = set()
        self._closed = False

    async def run(
        self, reference: str, *args: Any, limits: Limits | None = None, id: str = "", **kwargs: Any
    ) -> Outcome:
        """Call `reference` ('package.module:function' or 'path/file.py:function') in a worker, from an event loop.

        Arguments are pickled, results are plain JSON data (tuples come back as lists). id: given back in the outcome.
        """
        room = self._rooms.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self.workers * WAITING))
        async with room:
            job = self._submit(Call(reference, args, kwargs, limits or Limits(), id))
            try:
                return await asyncio.wrap_future(job.future)
            except asyncio.CancelledError:
                job.abandon()
                raise

    def call(self, reference: str, *args: Any, limits: Limits | None = None, id: str = "", **kwargs: Any) -> Outcome:
        """The same for code without an event loop; blocks until the outcome is there."""
        with self._room:
            return self._submit(Call(reference, args, kwargs, limits or Limits(), id)).future.result()

    def close(self) -> None:
        """Kill every worker; calls that wait end as 'died'."""
        with self._lock:
            self._closed = True
            open_, threads = list(self._open), list(self._threads)
        for process in open_:
            process.kill()
        for _ in threads:
            self._jobs.put(None)
        with suppress(queue.Empty):
            while True:
                if (job := self._jobs.get_nowait()) is not None:
                    job.future.set_result(Outcome("died", reason="the pool was closed", id=job.call.id))
                else:
                    self._jobs.put(None)
                    break

    def _submit(self, call: Call) -> _Job:
        job = _Job(call, Future(), time.monotonic())
        with self._lock:
            if self._closed:
                raise RuntimeError("the pool is closed")
            self._pending += 1
            if self._pending > len(self._threads) and len(self._threads) < self.workers:
                name = f"guerdon-pool-{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._serve, name=name, daemon=True))
                self._threads[-1].start()
        self._jobs.put(job)
        return job

    def _serve(self) -> None:
        """The life of one worker slot."""
        process: Process | None = None
        calls = 0
        while (job := self._jobs.get()) is not None:
            outcome, process = self._one(job, process)
            calls += 1
            if process is not None and calls % CLEAN_EVERY == 0:
                self._forget(process)
                process = None
            with self._lock:
                self._pending -= 1
            with suppress(Exception):  # nobody waits for it any more
                job.future.set_result(outcome)
        if process is not None:
            self._forget(process)

    def _one(self, job: _Job, process: Process | None) -> tuple[Outcome, Process | None]:
        waited = time.monotonic() - job.since
        if job.abandoned or waited > PATIENCE:
            return Outcome("died", reason=f"given up after {waited:.0f} s in the queue", id=job.call.id), process
        try:
            if process is None or not process.alive:
                process = self._replace(process)
            job.process = process
            if job.abandoned:
                process.kill()
            outcome = process.call(job.call)
        except Exception as error:  # arguments that cannot be pickled, no more processes: the caller is told
            self._forget(process)
            return Outcome("raised", reason=f"{type(error).__name__}: {error}", id=job.call.id), None
        finally:
            job.process = None
        if outcome.ok or outcome.status == "raised":
            return outcome, process
        self._forget(process)
        return outcome, None

    def _replace(self, old: Process | None) -> Process:
        self._forget(old)
        new = Process()
        with self._lock:
            self._open.add(new)
            closed = self._closed
        if closed:
            new.kill()
        return new

    def _forget(self, process: Process | None) -> None:
        if process is not None:
            with self._lock:
                self._open.discard(process)
            process.close()


@cache
def shared() -> Pool:
    """The pool of this process, with a worker per core, closed at exit."""
    pool = Pool()
    atexit.register(pool.close)
    return pool
