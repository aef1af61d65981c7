"""One process per run folder: a lock that its holder cannot leave behind."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAME = ".lock"


class FolderBusy(RuntimeError):
    """Another process is at work in a run folder."""


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the folder while the block runs; FolderBusy, with the process id, when another process holds it.

    The kernel frees the lock when its holder ends, however it ends, so nothing has to be cleaned up after a kill. A
    file system that knows no locks is used without one.
    """
    handle = os.open(folder / NAME, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _acquire(handle, folder)
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)


def _acquire(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        pid = os.pread(handle, 32, 0).decode(errors="replace") or "unknown"
        raise FolderBusy(
            f"{folder} is in use by process {pid}. Wait until it ends, stop it (kill {pid}; it will save), or choose "
            "another --out"
        ) from error
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS):
            raise
