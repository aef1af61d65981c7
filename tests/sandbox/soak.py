"""A long stay of hostile programs: many of them are graded, some at a time, and then nobody may be left."""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from guerdon.rewards.verify.code import CodeTests, read_tests
from guerdon.sandbox import Limits
from tests.sandbox.hostile import HONEST, hostile

LIMITS = Limits(wall=3.0, cpu=3.0, memory=256 * 2**20, processes=40, disk=32 * 2**20, output=2**20)
HONEST_EVERY = 10


@dataclass
class Soaked:
    """Verdicts by status, those that are not as they should be, and what was left behind."""

    verdicts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    seconds: float = 0.0


def soak(programs: int, at_once: int = 4) -> Soaked:
    """Grade so many programs, every tenth of them honest, and look for what they left."""
    soaked, begin = Soaked(), time.monotonic()
    asyncio.run(_grade(Soaked(), 4, at_once, "/nowhere", 1))  # threads and files that stay are there from now on
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server, reaper():
        canary = Path(folder, "canary")
        canary.write_text("alive")
        server.setblocking(False)
        before = _traces()
        asyncio.run(_grade(soaked, programs, at_once, str(canary), server.getsockname()[1]))
        soaked.left += [f"{name}: {was} before, {now} after" for name, was, now in _changes(before, _traces())]
        if canary.read_text() != "alive":
            soaked.left.append("the canary is dead")
        try:
            server.accept()
            soaked.left.append("a program reached a port of the host")
        except BlockingIOError:
            pass
    soaked.seconds = time.monotonic() - begin
    return soaked


async def _grade(soaked: Soaked, programs: int, at_once: int, canary: str, port: int) -> None:
    verifier = CodeTests(limits=LIMITS, test_seconds=1.0)
    called = read_tests([{"function": "solve", "args": [x], "expected": x * x + 1} for x in (3, 11)])
    printed = read_tests([{"stdin": f"{x}\n", "stdout": f"{x * x + 1}\n"} for x in (3, 11)])
    checked = read_tests("for x in (3, 11):\n    assert solve(x) == x * x + 1")
    slots = asyncio.Semaphore(at_once)

    async def one(number: int) -> None:
        honest = number % HONEST_EVERY == 0
        name, source = ("honest", HONEST) if honest else hostile(number - number // HONEST_EVERY, canary, port)
        tests = (called, printed, called, printed, checked)[number % 5 if number % 25 else 4]
        async with slots:
            verdict = await verifier.check(f"```python\n{source}```", tests)
        soaked.verdicts[verdict.status] += 1
        if verdict.status not in (("right",) if honest else ("wrong", "timed_out")):
            soaked.wrong.append(f"{number} ({name}): {verdict.status}, {verdict.reason}")

    await asyncio.gather(*map(one, range(programs)))


@contextmanager
def reaper() -> Iterator[None]:
    """While it lasts, orphans become children of this process, where `_traces` sees them."""
    prctl = ctypes.CDLL(None).prctl
    prctl(36, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(36, 0, 0, 0, 0)


def _traces() -> dict[str, object]:
    tasks = Path("/proc/self/task").iterdir()
    children = sorted(int(pid) for task in tasks for pid in (task / "children").read_text().split())
    return {
        "child processes": children,
        "open files": len(os.listdir("/proc/self/fd")),
        "temporary folders": sorted(
            name for name in os.listdir(tempfile.gettempdir()) if name.startswith("guerdon-box-")
        ),
    }


def _changes(before: dict[str, object], after: dict[str, object]) -> Iterator[tuple[str, object, object]]:
    return ((name, before[name], after[name]) for name in before if before[name] != after[name])
