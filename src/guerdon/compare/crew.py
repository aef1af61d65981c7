"""The processes that do the jobs of a comparison: as many as there are cores where models are small, else one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from guerdon.compare.base import Comparison
from guerdon.compare.jobs import Job, do

SMALL = 5_000_000
"""Weights up to which a policy is trained on one core: more threads would only wait for each other."""


@dataclass(frozen=True)
class Word:
    """What is heard of a job. spent: sampled tokens so far. error: of one that failed."""

    job: Job
    kind: Literal["began", "spent", "done", "stopped", "failed"]
    spent: int = 0
    error: str = ""


Hear = Callable[[Word], None]


@dataclass
class Crew:
    """workers: processes; 0 does all in this one, on as many threads as it has.

    hear: told of every job, by one thread at a time. stopping: no job is begun any more, and those begun save and end.
    """

    comparison: Comparison
    folder: Path
    hear: Hear
    workers: int
    stopping: bool = False
    _left: deque[Job] = field(default_factory=deque)
    _processes: set[subprocess.Popen[str]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _broken: list[BaseException] = field(default_factory=list)

    def work(self, jobs: Sequence[Job]) -> None:
        """Do all jobs. One that fails is heard of, and the others go on.

        SIGINT and SIGTERM ask for a stop; a second one ends all processes and raises KeyboardInterrupt.
        """
        self._left = deque(jobs)
        with _asked(self._ask):
            if not self.workers:
                while self._left and not self.stopping:
                    self._do_here(self._left.popleft())
                return
            threads = [threading.Thread(target=self._work, args=(i,), daemon=True) for i in range(self.workers)]
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)
        if self._broken:
            raise self._broken[0]

    def _ask(self) -> None:
        again, self.stopping = self.stopping, True
        for process in list(self._processes):
            process.send_signal(signal.SIGKILL if again else signal.SIGTERM)
        if again:
            raise KeyboardInterrupt

    def _do_here(self, job: Job) -> None:
        self._say(job, "began")
        try:
            done = do(
                self.comparison,
                self.folder,
                job,
                tell=lambda spent, of: self._say(job, "spent", spent),
                asked=lambda: self.stopping,
            )
        except Exception as error:
            self._say(job, "failed", error=f"{type(error).__name__}: {error}")
        else:
            self._say(job, "done" if done else "stopped")

    def _say(self, job: Job, kind: Any, spent: int = 0, error: str = "") -> None:
        with self._lock:
            self.hear(Word(job, kind, spent, error))

    def _work(self, number: int) -> None:
        """A thread that has jobs done by a process of its own, and by a new one should that die."""
        try:
            while self._left and not self.stopping:
                with self._process(number) as process:
                    while process.poll() is None and not self.stopping and (job := self._next()):
                        self._have_done(process, job, number)
        except BaseException as error:
            self._broken.append(error)
            self.stopping = True

    def _next(self) -> Job | None:
        with self._lock:
            return self._left.popleft() if self._left else None

    def _have_done(self, process: subprocess.Popen[str], job: Job, number: int) -> None:
        assert process.stdin is not None
        self._say(job, "began")
        process.stdin.write(json.dumps(asdict(job)) + "\n")
        process.stdin.flush()
        while found := _heard(process):
            if "end" in found:
                return self._say(job, found["end"], error=found.get("error", ""))
            self._say(job, "spent", found["spent"])
        died = f"its process ended with status {process.wait()}; the last it said: {_last(self._log(number))}"
        return self._say(job, "failed", error=died)

    def _log(self, number: int) -> Path:
        return self.folder / f"worker-{number}.log"

    @contextmanager
    def _process(self, number: int) -> Iterator[subprocess.Popen[str]]:
        """A process that is ready. RuntimeError when it does not come up."""
        env = dict(os.environ)
        if self.workers > 1 or is_small(self.comparison):
            env |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        words = [sys.executable, "-m", "guerdon.compare.worker", str(self.folder)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "encoding": "utf-8"}
        with self._log(number).open("w", encoding="utf-8") as log:
            # In a session of its own, so that Ctrl-C in the terminal reaches this process alone, which asks the others.
            process = subprocess.Popen(words, stderr=log, env=env, start_new_session=True, **pipes)
        self._processes.add(process)
        try:
            if _heard(process) is None and not self.stopping:
                raise RuntimeError(f"a worker did not start: {_last(self._log(number))}")
            yield process
        finally:
            with suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr]  # that is how it knows that it is done
            process.wait()
            self._processes.discard(process)


def _heard(process: subprocess.Popen[str]) -> dict[str, Any] | None:
    assert process.stdout is not None
    line = process.stdout.readline()
    return json.loads(line) if line else None


def _last(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "nothing"


def is_small(comparison: Comparison) -> bool:
    """Whether a policy is trained on one core."""
    from guerdon.models.size import size_of

    o = comparison.options
    return o.device == "cpu" and size_of(o.model).weights <= SMALL


def workers_for(comparison: Comparison, jobs: int) -> int:
    """A process for each core where models are small; else one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, jobs)) if is_small(comparison) else 1


@contextmanager
def _asked(ask: Callable[[], None]) -> Iterator[None]:
    """SIGINT and SIGTERM call `ask` while the block runs. Off the main thread nothing is installed."""
    old = {}
    with suppress(ValueError):
        for number in (signal.SIGINT, signal.SIGTERM):
            old[number] = signal.signal(number, lambda number, frame: ask())
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
