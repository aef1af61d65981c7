"""What a command says, and where: people read standard error, programs the last line of standard output."""

from __future__ import annotations

import json
import sys
import traceback
from typing import Any, TextIO

from guerdon.keys import UsageError

BUGS = (AssertionError, AttributeError, IndexError, NameError, NotImplementedError, TypeError, ZeroDivisionError)
"""Errors that no input of a user should cause: the traceback is shown for them, so that they can be reported."""


class Failed(Exception):
    """A command ended without success. code: the exit status; fields: what `--json` prints beside the error."""

    def __init__(self, message: str, kind: str, code: int = 1, **fields: Any) -> None:
        super().__init__(message)
        self.kind, self.code, self.fields = kind, code, fields


def say(text: str = "", style: str = "") -> None:
    """A line for people, on standard error."""
    from rich.console import Console

    Console(stderr=True, highlight=False, soft_wrap=True).print(text, style=style, markup=False)


def note(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """What `warnings.showwarning` does: people are told the message, not the line of code that it came from."""
    say(f"note: {message}", "yellow")


def failure(error: BaseException) -> Failed:
    """Any error as the failure of a command: one clear line, its kind, and the exit status."""
    if isinstance(error, Failed):
        return error
    if isinstance(error, KeyboardInterrupt):
        return Failed("interrupted before anything was done", "Interrupted", 130)
    message = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    message = " ".join(message.split()) or "no message"
    return Failed(message, type(error).__name__, 2 if isinstance(error, UsageError) else 1)


def report(error: BaseException, debug: bool, as_json: bool, out: Any) -> int:
    """Say what went wrong and return the exit status. out: the stream for the JSON line."""
    failed = failure(error)
    if debug or isinstance(error, BUGS):
        traceback.print_exception(error, file=sys.stderr)
    say(f"error: {failed}" if failed.code != 130 else str(failed), style="bold red" if failed.code != 130 else "yellow")
    if as_json:
        emit({**failed.fields, "error": str(failed), "kind": failed.kind}, out)
    return failed.code


def emit(result: dict[str, Any], out: Any) -> None:
    """The one JSON line of a command; numbers that JSON has no word for become null."""
    out.write(json.dumps(_clean(result), default=str) + "\n")
    out.flush()


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return None if isinstance(value, float) and (value != value or abs(value) == float("inf")) else value
