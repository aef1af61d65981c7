"""Running programs that nobody trusts: `Sandbox.run` and its async twin, and `available`, which tries it out."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from threading import BoundedSemaphore

from guerdon.sandbox.job import Files, Job, Work
from guerdon.sandbox.limits import Limits, Result, SandboxError

Pipe = tuple[int, int, int, int]
"""A pipe between programs run together: (which one writes, to which descriptor; which one reads, from which)."""


class Sandbox:
    """Runs programs with no access to the host: no network, no files but the system's own, no environment, limits on
    everything, and nothing left behind.

    workers: programs at a time, from all threads together; further ones wait, and their clock starts when they do.
    readable: host paths that programs may read (a folder of packages, say). Where the operating system does not allow
    sandboxes every run raises SandboxUnavailable; `available` tells before.

    unsafe_local: run programs as ordinary processes with the same limits and a temporary folder, but WITHOUT ANY
    ISOLATION: they can read and delete the user's files, use the network and signal other processes, and one that
    forks fast enough outlives its end. Total disk use is not limited. For programs that one would start by hand.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        workers: int | None = None,
        readable: Sequence[str] = (),
        unsafe_local: bool = False,
    ) -> None:
        self.limits = limits or Limits()
        self.workers = workers or len(os.sched_getaffinity(0))
        self.readable, self.unsafe_local = tuple(readable), unsafe_local
        self._slots = BoundedSemaphore(self.workers)
        self._pool = ThreadPoolExecutor(self.workers, "guerdon-sandbox")

    def run(self, files: Files, command: Sequence[str], stdin: bytes = b"", limits: Limits | None = None) -> Result:
        """Run one program to its end and say what became of it; from any thread. SandboxError when the sandbox fails.

        files: text or bytes by path below the program's folder, which is its current folder and else empty.
        A command that begins with 'python' uses the interpreter this environment is built on.
        """
        return self.run_together([Work(files, command, stdin, limits)])[0]

    async def run_async(
        self, files: Files, command: Sequence[str], stdin: bytes = b"", limits: Limits | None = None
    ) -> Result:
        """`run` without blocking the event loop. When cancelled, the program is ended first; then it is passed on."""
        return (await self.run_together_async([Work(files, command, stdin, limits)]))[0]

    def run_together(self, works: Sequence[Work], pipes: Sequence[Pipe] = ()) -> list[Result]:
        """Run programs that talk to each other, at the same time and in one slot; the results in their order.

        The first one leads: the others are ended with it.
        """
        return self._run(self._jobs(works), pipes)

    async def run_together_async(self, works: Sequence[Work], pipes: Sequence[Pipe] = ()) -> list[Result]:
        """`run_together` without blocking the event loop; see `run_async`."""
        jobs = self._jobs(works)
        submitted = self._pool.submit(self._run, jobs, pipes)
        running = asyncio.wrap_future(submitted)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            if not submitted.cancel():
                for job in jobs:
                    job.cancel()
                with suppress(SandboxError):
                    await running
            raise

    def _jobs(self, works: Sequence[Work]) -> list[Job]:
        return [Job(work, work.limits or self.limits, self.readable, self.unsafe_local) for work in works]

    def _run(self, jobs: Sequence[Job], pipes: Sequence[Pipe]) -> list[Result]:
        with self._slots:
            ends = [os.pipe() for _ in pipes]
            try:
                for index, job in enumerate(jobs):
                    job.start(_descriptors(index, pipes, ends))
                for end in ends:
                    os.close(end[0])
                    os.close(end[1])
                ends = []
                results = [jobs[0].finish()]
                for job in jobs[1:]:
                    job.end()
                return [*results, *(job.finish() for job in jobs[1:])]
            except BaseException:
                for job in jobs:
                    job.cancel()
                for job in jobs:
                    with suppress(SandboxError):
                        job.finish()
                raise
            finally:
                for end in ends:
                    os.close(end[0])
                    os.close(end[1])


def _descriptors(index: int, pipes: Sequence[Pipe], ends: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """(descriptor here, number it gets there) for the program of this index."""
    found = []
    for (writer, to, reader, source), (read_end, write_end) in zip(pipes, ends, strict=True):
        found += [(write_end, to)] if writer == index else []
        found += [(read_end, source)] if reader == index else []
    return found


@lru_cache(maxsize=1)
def available() -> str:
    """'' where sandboxes work, else why not and how to mend it. Found out by starting one; asked once per process."""
    limits = Limits(wall=30.0)
    try:
        result = Sandbox(limits, workers=1).run({"a.txt": "here"}, ["python", "-I", "-S", "-c", _PROBE])
    except SandboxError as error:
        return str(error)
    if result.ok and result.stdout == b"here\n":
        return ""
    said = result.stderr.decode(errors="replace").strip()[-300:]
    return f"a trial program in the sandbox {result.status} with {result.returncode}: {said or 'it said nothing'}"


_PROBE = "print(open('a.txt').read())"
