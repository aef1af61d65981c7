"""Running programs that nobody trusts, on Linux, with bubblewrap: isolated, limited, and without traces."""

from guerdon.sandbox.box import Pipe, Sandbox, available
from guerdon.sandbox.job import Files, Work
from guerdon.sandbox.limits import Limits, Result, SandboxError, SandboxUnavailable

__all__ = [
    "Files",
    "Limits",
    "Pipe",
    "Result",
    "Sandbox",
    "SandboxError",
    "SandboxUnavailable",
    "Work",
    "available",
]
