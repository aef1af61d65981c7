"""The program of a worker process: takes calls from one pipe, answers on another, until its parent is gone.

    python -m guerdon.pool.worker REQUESTS ANSWERS

Calls are pickled by the parent, which is trusted. Answers are JSON, so that the parent never unpickles what came out of
code it does not trust. What the called function prints goes to the pipe the parent gave as standard output.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import resource
import signal
import struct
import sys
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

HEADER = struct.Struct("!Q")
PR_SET_PDEATHSIG = 1


def main(requests: BinaryIO, answers: BinaryIO) -> None:
    """Serve calls until the requests end."""
    while (call := _read(requests)) is not None:
        answer = _answer(call, answers)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):  # the function may have closed it
                stream.flush()
        answers.write(HEADER.pack(len(answer)) + answer)
        answers.flush()


def _answer(call: bytes, answers: BinaryIO) -> bytes:
    """The answer to a call; before the function runs, an empty frame says that it was found and the work begins."""
    try:
        reference, args, kwargs, cpu_seconds, memory = pickle.loads(call)
        called = function(reference)
        _limit(cpu_seconds, memory)
        answers.write(HEADER.pack(0))
        answers.flush()
        return _encoded({"value": called(*args, **kwargs)})
    except MemoryError:
        return _encoded({"memory": "out of memory"})
    except BaseException as error:
        return _encoded({"raised": f"{type(error).__name__}: {_short(error)} ({_place(error)})"})


def _encoded(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer, ensure_ascii=True).encode()


@cache
def function(reference: str) -> Callable[..., Any]:
    """What 'package.module:function' or 'path/to/file.py:function' names."""
    from guerdon.userfile import load_function

    place, _, name = reference.rpartition(":")
    if place.endswith(".py"):
        return load_function(reference)
    __import__(place)
    return getattr(sys.modules[place], name)  # type: ignore[no-any-return]


def _limit(cpu_seconds: float | None, memory: int | None) -> None:
    """Soft limits for the coming call; the hard ones stay, so that the next call may have others."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = used.ru_utime + used.ru_stime
    cpu = -1 if cpu_seconds is None else int(spent + cpu_seconds) + 1
    for what, most in ((resource.RLIMIT_CPU, cpu), (resource.RLIMIT_DATA, -1 if memory is None else memory)):
        hard = resource.getrlimit(what)[1]
        resource.setrlimit(what, (most if hard == -1 else min(most, hard) if most != -1 else hard, hard))


def _short(error: BaseException, most: int = 2000) -> str:
    try:
        return str(error)[:most]
    except Exception:  # an exception of the user's whose own text raises
        return "its text cannot be made"


def _place(error: BaseException) -> str:
    """File and line where it was raised, in the called function's file if it passed through it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename != __file__] or frames
    return f"{Path(own[-1].filename).name}, line {own[-1].lineno}"


def _read(requests: BinaryIO) -> bytes | None:
    header = requests.read(HEADER.size)
    return requests.read(HEADER.unpack(header)[0]) if len(header) == HEADER.size else None


def _die_with_parent() -> None:
    """Ask the kernel (Linux) to kill this process when its parent is gone, whatever it is computing then."""
    with contextlib.suppress(OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    _die_with_parent()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with os.fdopen(int(sys.argv[1]), "rb") as incoming, os.fdopen(int(sys.argv[2]), "wb") as outgoing:
        main(incoming, outgoing)
