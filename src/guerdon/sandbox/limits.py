"""What a sandboxed program may use, what became of it, and what is raised when there is no sandbox to run it in."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

Outcome = Literal["exited", "signalled", "timed_out", "resource_limit"]

MEGABYTE = 2**20

MAX_FILES = 100
"""Files that can be put into a sandbox at once; more are a mistake."""


@dataclass(frozen=True)
class Limits:
    """What one run may use; all of it counts for the whole tree of processes unless stated otherwise.

    wall: seconds from the start of the work (waiting for a free slot does not count). cpu: CPU seconds. memory: bytes
    of anonymous memory, of shared memory and of files in the private folder, and the address space of each process.
    processes: processes and threads at a time. disk: bytes of the private folder; also the largest file. output:
    bytes kept of each of stdout and stderr, the rest is dropped. open_files: per process.
    """

    wall: float = 10.0
    cpu: float = 10.0
    memory: int = 512 * MEGABYTE
    processes: int = 64
    disk: int = 64 * MEGABYTE
    output: int = 4 * MEGABYTE
    open_files: int = 256

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) > 0:
                raise ValueError(f"the limit {field.name} is {getattr(self, field.name)}; expected a number above 0")
        if self.open_files < MAX_FILES + 28:
            raise ValueError(f"the limit open_files is {self.open_files}; expected at least {MAX_FILES + 28}")


@dataclass(frozen=True)
class Result:
    """What became of a run. limit: which limit ended it (a field of `Limits`), '' when none did.

    status: 'exited' (by itself, with `returncode`), 'signalled' (killed by signal -`returncode`, not by a limit),
    'timed_out' (limit 'wall' or 'cpu') or 'resource_limit'. Where a limit ended it, returncode is -9. truncated:
    whether stdout or stderr went over `Limits.output`. seconds: wall time of the work. A program that exits with a
    code above 128 cannot be told from one that a signal killed.
    """

    status: Outcome
    returncode: int
    stdout: bytes
    stderr: bytes
    truncated: bool
    seconds: float
    limit: str = ""

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with code 0, which says nothing about what it did."""
        return self.status == "exited" and self.returncode == 0


class SandboxError(RuntimeError):
    """The sandbox itself failed; it says nothing about the program."""


class SandboxUnavailable(SandboxError):
    """There can be no sandbox on this machine as it is; the message tells how to mend that."""
