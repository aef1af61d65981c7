"""One worker process as its parent sees it: started, called, watched, killed."""

from __future__ import annotations

import json
import os
import pickle
import selectors
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from guerdon.pool.outcome import Limits, Outcome, Status
from guerdon.pool.worker import HEADER

CHUNK = 2**16

LOADING = 120.0
"""Seconds in which a worker must have started and imported what it is to call; a call's own time begins after that."""

_End = tuple[Status, Any, str]
"""Status, value, reason."""


@dataclass(frozen=True)
class Call:
    """What is to be called: 'package.module:function' or 'path/file.py:function', with picklable arguments."""

    reference: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    id: str = ""

    def packed(self) -> bytes:
        parts = (self.reference, self.args, self.kwargs, self.limits.cpu_seconds, self.limits.memory)
        return pickle.dumps(parts, protocol=pickle.HIGHEST_PROTOCOL)


class Process:
    """A worker process of its own session, so that whatever it starts is killed with it. Used by one thread at a time;
    `kill` may come from any."""

    def __init__(self) -> None:
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        self._printed, printed = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "guerdon.pool.worker", str(requests), str(answers)],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                pass_fds=(requests, answers),
                env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"},
                start_new_session=True,
            )
        finally:
            for inner in (requests, answers, printed):
                os.close(inner)
        os.set_blocking(self._requests, False)
        self._death = os.pidfd_open(self._process.pid) if hasattr(os, "pidfd_open") else -1
        self._reaping = threading.Lock()

    @property
    def alive(self) -> bool:
        with self._reaping:
            return self._process.poll() is None

    def call(self, call: Call) -> Outcome:
        """Run a call. Unless the outcome is done or raised, the process is dead afterwards."""
        exchange = _Exchange(self, call)
        status, value, reason = exchange.run()
        if status not in ("done", "raised"):
            self.kill()
        return Outcome(status, value, reason, exchange.printed, time.monotonic() - exchange.begun, call.id)

    def kill(self) -> None:
        """End the process and its process group, from any thread; harmless when it is gone."""
        with self._reaping:  # a process that was waited for may have lent its number to another
            if self._process.returncode is None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Kill, wait, and give back what it held. Only the thread that calls it, once."""
        self.kill()
        self._process.wait()
        for end in (self._requests, self._answers, self._printed, self._death):
            if end >= 0:
                os.close(end)

    def ended(self) -> str:
        """How the process ended, in words."""
        try:
            code = self._process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            return "it closed its pipe"
        if code >= 0:
            return f"the process ended itself with exit status {code}"
        with suppress(ValueError):
            return f"the process was ended by {signal.Signals(-code).name}"
        return f"the process was ended by signal {-code}"


class _Exchange:
    """One call over the pipes of a process, until its answer is there, its time is up, or it is dead."""

    def __init__(self, process: Process, call: Call) -> None:
        self._process, self._limits = process, call.limits
        self.begun = time.monotonic()
        self._loading = True
        packed = call.packed()
        self._left = memoryview(HEADER.pack(len(packed)) + packed)
        self._answer = bytearray()
        self._output = bytearray()
        self._dropped = 0

    @property
    def printed(self) -> str:
        dropped = f"\n... {self._dropped:,} more bytes" if self._dropped else ""
        return self._output.decode(errors="replace") + dropped

    def run(self) -> _End:
        p = self._process
        with selectors.DefaultSelector() as ready:
            ready.register(p._requests, selectors.EVENT_WRITE)
            ready.register(p._answers, selectors.EVENT_READ)
            ready.register(p._printed, selectors.EVENT_READ)
            if p._death >= 0:  # a child of the function may hold the pipes open after the worker's death
                ready.register(p._death, selectors.EVENT_READ)
            while True:
                seconds = LOADING if self._loading else self._limits.seconds
                left = self.begun + seconds - time.monotonic()
                if left <= 0:
                    what = "not imported" if self._loading else "no answer"
                    return "timed_out", None, f"{what} within {seconds:g} s"
                events = ready.select(left)
                for key, _ in events:
                    found = self._move(key.fd, ready)
                    if found is not None:
                        self._drain(p._printed)
                        return found

    def _move(self, end: int, ready: selectors.BaseSelector) -> _End | None:
        p = self._process
        if end == p._requests:
            try:
                self._left = self._left[os.write(end, self._left[:CHUNK]) :]
            except BrokenPipeError:
                return self._dead()
            if not self._left:
                ready.unregister(end)
            return None
        if end == p._death:
            return self._dead()
        got = os.read(end, CHUNK)
        if end == p._printed:
            if not got:
                ready.unregister(end)
            self._keep(got)
            return None
        self._answer += got
        return self._read_answer() if got else self._dead()

    def _keep(self, got: bytes) -> None:
        room = max(0, self._limits.output - len(self._output))
        self._output += got[:room]
        self._dropped += max(0, len(got) - room)

    def _drain(self, end: int) -> None:
        """What was printed before the answer is already in the pipe."""
        os.set_blocking(end, False)
        with suppress(BlockingIOError):
            while got := os.read(end, CHUNK):
                self._keep(got)
                if self._dropped:
                    break
        os.set_blocking(end, True)

    def _dead(self) -> _End:
        how = self._process.ended()
        if how.endswith("SIGXCPU"):
            return "timed_out", None, f"more than {self._limits.cpu_seconds:g} s of CPU time"
        return "died", None, how

    def _read_answer(self) -> _End | None:
        if len(self._answer) < HEADER.size:
            return None
        size = HEADER.unpack(self._answer[: HEADER.size])[0]
        if size == 0 and self._loading:
            self._loading, self.begun = False, time.monotonic()
            del self._answer[: HEADER.size]
            return self._read_answer()
        if size > self._limits.result:
            return "over_limit", None, f"a result of {size:,} bytes; the limit is {self._limits.result:,}"
        if len(self._answer) < HEADER.size + size:
            return None
        try:
            answer = json.loads(self._answer[HEADER.size :])
        except ValueError:
            return "died", None, "it wrote something that is no answer into its pipe"
        if "memory" in answer:
            return "over_limit", None, f"more than {self._limits.memory or 0:,} bytes of memory"
        if "raised" in answer:
            return "raised", None, answer["raised"]
        return "done", answer["value"], ""
