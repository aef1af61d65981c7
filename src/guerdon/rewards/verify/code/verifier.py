"""`CodeTests`, the reward for programs, and `grade_code` for one program at hand."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from guerdon.rewards.fault import RewardFault
from guerdon.rewards.verify.base import Verifier
from guerdon.rewards.verify.code.grade import grade
from guerdon.rewards.verify.code.program import program_of
from guerdon.rewards.verify.code.suite import EXPECTED, Test, read_tests
from guerdon.sandbox import Limits, Sandbox, SandboxError, SandboxUnavailable, available
from guerdon.types import Verdict

if TYPE_CHECKING:
    from guerdon.types import Episode

LIMITS = Limits(wall=30.0, cpu=30.0)
"""Of one program with all its tests."""

TEST_SECONDS = 5.0


@dataclass(frozen=True)
class CodeTests(Verifier):
    """'right' when the program in the reply passes all tests of the task, which runs it in a sandbox.

    The program is the reply's last Python block (`program.program_of`). The task's data hold `tests` (`suite.EXPECTED`
    lists the layouts), perhaps `entry_point`, the function that tests call, and `setup`, code put before the program.
    'wrong' has the `share` of tests passed and the first failure as its reason, a broken limit as 'resource limit:
    ...'; 'timed_out' when the first failure is one of time; 'no_answer' without a program; 'failed' when the sandbox
    failed. A task without tests is a RewardFault; a machine that allows no sandbox raises SandboxUnavailable.

    test_seconds: per test; one that takes longer ends the run. limits: of the program with all tests together.
    tolerance: relative and absolute difference that numbers may have, exact when None; a test's own `tolerance` counts
    more. unsafe_local: run programs without any isolation (`Sandbox` says what that means).
    """

    name: str = "code"
    limits: Limits = LIMITS
    test_seconds: float = TEST_SECONDS
    tolerance: float | None = None
    unsafe_local: bool = False

    async def verify(self, episode: Episode) -> Verdict:
        data = episode.task.data
        entry_point = str(data.get("entry_point") or "")
        if data.get("tests") is None:
            found = f"no tests in the task's data, which has {sorted(map(str, data))}"
            raise RewardFault(self.name, episode.task.id, found, f"'tests': {EXPECTED}")
        try:
            tests = read_tests(data["tests"], entry_point, self.tolerance)
        except ValueError as error:
            raise RewardFault(self.name, episode.task.id, f"tests that cannot be read: {error}", EXPECTED) from None
        return await self.check(episode.reply, tests, str(data.get("setup") or ""))

    async def check(self, reply: str, tests: list[Test], setup: str = "") -> Verdict:
        program = program_of(reply)
        if program is None:
            return Verdict("no_answer", "no program in the reply", stage="extract")
        reason = "" if self.unsafe_local else await asyncio.to_thread(available)
        if reason:
            raise SandboxUnavailable(reason)
        whole = f"{setup}\n\n{program}" if setup else program
        try:
            return await grade(whole, tests, shared_sandbox(self.unsafe_local), self.limits, self.test_seconds)
        except SandboxError as error:
            return Verdict("failed", str(error), program, "sandbox")


async def grade_code(
    tests: Any,
    text: str,
    entry_point: str = "",
    setup: str = "",
    limits: Limits = LIMITS,
    test_seconds: float = TEST_SECONDS,
    tolerance: float | None = None,
    unsafe_local: bool = False,
) -> Verdict:
    """The verdict on the program in `text` by `tests` (any layout of `suite.EXPECTED`); see `CodeTests`.

    ValueError for tests that cannot be read, SandboxUnavailable where there can be no sandbox.
    """
    read = read_tests(tests, entry_point, tolerance)
    verifier = CodeTests(limits=limits, test_seconds=test_seconds, tolerance=tolerance, unsafe_local=unsafe_local)
    return await verifier.check(text, read, setup)


@lru_cache
def shared_sandbox(unsafe_local: bool = False) -> Sandbox:
    """The sandbox of this process: all graders together run as many programs at a time as there are cores."""
    return Sandbox(unsafe_local=unsafe_local)
