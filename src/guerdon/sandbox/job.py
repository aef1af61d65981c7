"""One program on its way through the sandbox: the work, and the supervisor process that does it."""

from __future__ import annotations

import json
import os
import select
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Any

from guerdon.sandbox import bwrap, seccomp
from guerdon.sandbox.limits import MAX_FILES, Limits, Outcome, Result, SandboxError, SandboxUnavailable

Files = Mapping[str, str | bytes]

_SUPERVISOR = str(Path(__file__).with_name("supervisor.py"))
_GRACE = 60.0
"""Seconds beyond the wall limit after which the supervisor is taken for dead."""


@dataclass(frozen=True)
class Work:
    """A program to run: its files by path below its folder, its command, its standard input, its limits if special."""

    files: Files
    command: Sequence[str]
    stdin: bytes = b""
    limits: Limits | None = None


class Job:
    """Work in progress: `start`, then `finish`; `cancel` from any thread at any time."""

    def __init__(self, work: Work, limits: Limits, readable: Sequence[str], unsafe_local: bool) -> None:
        self.limits, self.local = limits, unsafe_local
        self._files = {_inside(path): _bytes(data) for path, data in work.files.items()}
        if len(self._files) > MAX_FILES:
            raise ValueError(f"{len(self._files)} files for a sandboxed program; expected at most {MAX_FILES}")
        self._command, self._stdin, self._readable = list(work.command), work.stdin, readable
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: str | None = None
        self._cancelled = self._finished = False
        self._lock = Lock()

    def start(self, descriptors: Sequence[tuple[int, int]] = ()) -> None:
        """Start the supervisor and hand it the work. descriptors: (number here, number there) of what it inherits."""
        with self._lock:
            if self._cancelled:
                return
            self._folder = tempfile.mkdtemp(prefix="guerdon-box-") if self.local else None
            header, blobs = self._header(descriptors)
            command = [bwrap.python(), "-I", "-S", "-B", _SUPERVISOR]
            try:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    env={},
                    cwd="/",
                    start_new_session=True,
                    pass_fds=[here for here, _ in descriptors],
                )
                _write_all(self._process, b"".join([json.dumps(header).encode(), b"\n", *blobs]))
            except OSError as error:
                raise SandboxError(f"cannot start a program in the sandbox: {error}") from error

    def cancel(self) -> None:
        """End the program, or never start it; `finish` then raises SandboxError."""
        self._cancelled = True
        self.end()

    def end(self) -> None:
        """End the program where it still runs; `finish` then says that it was killed."""
        with self._lock:
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.close()

    def finish(self) -> Result:
        """Wait for the end; once. SandboxError when the sandbox failed or the job was cancelled."""
        try:
            if self._process is None or self._finished:
                raise SandboxError("the program has not been started, or its end was waited for already")
            self._finished = True
            out, err = _read_all(self._process, self.limits.wall + _GRACE)
        finally:
            self._clean_up()
        if self._cancelled:
            raise SandboxError("the program was cancelled")
        if self._process.returncode or b"\n" not in out:
            said = err.decode(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
            raise SandboxError(f"the supervisor of the sandbox ended with {self._process.returncode}: {said[0]}")
        head, body = out.split(b"\n", 1)
        return self._result(json.loads(head), body)

    def _result(self, head: Mapping[str, Any], body: bytes) -> Result:
        split = head["sizes"][0]
        stdout, stderr = body[:split], body[split:]
        if not head["started"]:
            said = stderr.decode(errors="replace").strip()[:300] or "bubblewrap said nothing"
            if "execvp" in said:
                raise SandboxError(f"no command {self._command[0]!r} in the sandbox ({said})")
            raise SandboxUnavailable(f"{said}; {bwrap.mend(said)}")
        status, code, limit = _outcome(head["code"], head["limit"])
        return Result(status, code, stdout, stderr, head["truncated"], head["seconds"], limit)

    def _header(self, descriptors: Sequence[tuple[int, int]]) -> tuple[dict[str, Any], list[bytes]]:
        command = [bwrap.python(), *self._command[1:]] if self._command[0] == "python" else self._command
        header: dict[str, Any] = {
            **asdict(self.limits),
            "command": command,
            "folder": self._folder,
            "fds": [[here, there] for here, there in descriptors],
            "stdin": len(self._stdin),
        }
        if self._folder is not None:
            for path, data in {"tmp/.keep": b"", **self._files}.items():
                target = Path(self._folder, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
            return {**header, "files": [], "filter": 0, "environment": bwrap.environment(self._folder)}, [self._stdin]
        wall = seccomp.program()
        files = [[f"{bwrap.BOX}/{path}", len(data)] for path, data in self._files.items()]
        header |= {"binary": bwrap.binary(), "bwrap": bwrap.arguments(self.limits.disk, self._readable)}
        return {**header, "files": files, "filter": len(wall)}, [*self._files.values(), self._stdin, wall]

    def _clean_up(self) -> None:
        with self._lock:
            for stream in (self._process.stdin, self._process.stdout, self._process.stderr) if self._process else ():
                if stream is not None:
                    stream.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, onerror=_make_writable)
            self._folder = None


def _outcome(code: int | None, limit: str) -> tuple[Outcome, int, str]:
    if limit == "asked":
        return "signalled", -9, ""
    if limit:
        return ("timed_out" if limit in ("wall", "cpu") else "resource_limit"), -9, limit
    assert code is not None
    if code > 128 and code <= 128 + 64:
        code = 128 - code  # how bubblewrap, like a shell, passes a signal on
    if code == -24:  # SIGXCPU
        return "timed_out", -9, "cpu"
    if code == -25:  # SIGXFSZ
        return "resource_limit", -9, "disk"
    return ("signalled" if code < 0 else "exited"), code, ""


def _inside(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or parts[0] == "/" or ".." in parts or "\0" in path:
        raise ValueError(f"the file {path!r} is not below the program's folder; expected a relative path without '..'")
    return str(PurePosixPath(path))


def _bytes(data: str | bytes) -> bytes:
    return data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data


def _write_all(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin is not None
    view = memoryview(data)
    while view:
        view = view[process.stdin.write(view) :]


def _read_all(process: subprocess.Popen[bytes], timeout: float) -> tuple[bytes, bytes]:
    """What the supervisor says until it ends; it is killed after `timeout` seconds."""
    assert process.stdout is not None
    assert process.stderr is not None
    said: dict[int, list[bytes]] = {process.stdout.fileno(): [], process.stderr.fileno(): []}
    waiting = select.poll()
    for fd in said:
        waiting.register(fd, select.POLLIN | select.POLLHUP)
    deadline, still_open = time.monotonic() + timeout, len(said)
    while still_open:
        if time.monotonic() > deadline:
            process.kill()
        for fd, _ in waiting.poll(1000):
            block = os.read(fd, 1 << 20)
            said[fd].append(block)
            if not block:
                waiting.unregister(fd)
                still_open -= 1
    process.wait()
    out, err = said.values()
    return b"".join(out), b"".join(err)


def _make_writable(function: Callable[[str], Any], path: str, _: Any) -> None:
    """Second try at removing what a program made unreadable."""
    for one in (os.path.dirname(path), path):
        os.chmod(one, stat.S_IRWXU)
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        os.unlink(path)
