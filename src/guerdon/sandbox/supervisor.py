"""The process that stands between the library and one sandboxed program: it starts it, watches it, ends it.

A stand-alone script (`python -I -S supervisor.py`), importing nothing of ours, so that it starts in a few
milliseconds and no busy interpreter can hold up its clock. It gets a job on its standard input: one line of JSON, then
the bytes of the files, the standard input and the system-call filter. The input stays open: when it ends or says
anything more, the program is ended, as if by a limit called 'asked'. It answers on its standard output: one line of
JSON, then stdout and stderr.

It is the reaper of everything below it (`PR_SET_CHILD_SUBREAPER`), so it ends only when nothing is left.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time

TYPE_CHECKING = False  # as `typing` says it, which would take long to import
if TYPE_CHECKING:
    from typing import Any

    Work = dict[str, Any]
    Standard = tuple[int, int, int]

TICK = 0.01  # seconds between two looks at the tree
PAGE = os.sysconf("SC_PAGE_SIZE")
CLOCK = os.sysconf("SC_CLK_TCK")
PR_SET_CHILD_SUBREAPER = 36


class Pump:
    """Keeps the first `limit` bytes of a pipe and drops the rest, never blocking."""

    def __init__(self, fd: int, limit: int) -> None:
        self.fd, self.limit, self.size, self.truncated = fd, limit, 0, False
        self.kept: list[bytes] = []
        os.set_blocking(fd, False)

    def drain(self, most: int = 16) -> bool:
        """Read what is there, at most so many blocks; False at the end of the pipe."""
        for _ in range(most):
            try:
                block = os.read(self.fd, 65536)
            except BlockingIOError:
                return True
            if not block:
                return False
            part = block[: self.limit - self.size]
            self.truncated |= len(part) < len(block)
            self.kept += [part] if part else []
            self.size += len(part)
        return True


def main() -> None:
    job, blobs = read_job()
    for source, _ in job["fds"]:
        os.set_inheritable(source, False)
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot become the reaper of the sandbox")
    stdin, stdout, stderr = os.pipe(), os.pipe(), os.pipe()
    begin = time.monotonic()
    pid, gate, status = start(job, blobs, (stdin[0], stdout[1], stderr[1]))
    for fd in (stdin[0], stdout[1], stderr[1], *(source for source, _ in job["fds"])):
        os.close(fd)
    pumps = Pump(stdout[0], job["output"]), Pump(stderr[0], job["output"])
    if gate is None or open_gate(gate, job):
        limit, code = watch(job, pid, begin, pumps, Feed(stdin[1], blobs[-2]))
    else:
        limit, code = "", None
    seconds = time.monotonic() - begin
    code = end_all(pid, code)
    for pump in pumps:
        pump.drain(most=64)
    answer(limit, code, seconds, pumps, status)


def read_job() -> tuple[Work, list[bytes]]:
    """The header and the blobs it announces, the last two being standard input and filter."""
    data = b""
    while b"\n" not in data:
        data += os.read(0, 65536) or sys.exit("the job ended before its first line did")
    line, data = data.split(b"\n", 1)
    job = json.loads(line)
    sizes = [size for _, size in job["files"]] + [job["stdin"], job["filter"]]
    parts = [data]
    missing = sum(sizes) - len(data)
    while missing > 0:
        parts.append(os.read(0, 1 << 20) or sys.exit("the job ended before its files did"))
        missing -= len(parts[-1])
    data, blobs = b"".join(parts), []
    for size in sizes:
        blobs.append(data[:size])
        data = data[size:]
    return job, blobs


def start(job: Work, blobs: list[bytes], standard: Standard) -> tuple[int, tuple[int, int] | None, int | None]:
    """Start the program with its limits: (pid, the gate it waits at or None, the pipe with its exit status or None)."""
    if job["folder"] is not None:
        program = job["command"][0]
        return fork(job, program, job["command"], job["environment"], standard), None, None
    status, info, block = os.pipe(), os.pipe(), os.pipe()
    arguments = list(job["bwrap"])
    for (path, _), blob in zip(job["files"], blobs, strict=False):
        arguments += ["--file", str(memory_file(blob)), path]
    if job["filter"]:
        arguments += ["--seccomp", str(memory_file(blobs[-1]))]
    arguments += ["--json-status-fd", str(status[1]), "--info-fd", str(info[1]), "--block-fd", str(block[0])]
    arguments += ["--chdir", "/box", "--remount-ro", "/"]
    # through a file, as the arguments of the sandbox's first process can be read inside it; so can its environment
    command = ["bwrap", "--args", str(memory_file("\0".join(arguments).encode() + b"\0")), "--", *job["command"]]
    for fd in (status[1], info[1], block[0]):
        os.set_inheritable(fd, True)
    pid = fork(job, job["binary"], command, {}, standard)
    for fd in (status[1], info[1], block[0]):
        os.close(fd)
    return pid, (info[0], block[1]), status[0]


def memory_file(blob: bytes) -> int:
    fd = os.memfd_create("job", 0)
    with os.fdopen(os.dup(fd), "wb") as file:
        file.write(blob)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def fork(job: Work, program: str, command: list[str], environment: dict[str, str], standard: Standard) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, which the program would inherit
            signal.signal(number, signal.SIG_DFL)
        for target, source in enumerate(standard):
            os.dup2(source, target, inheritable=True)
        for source, target in job["fds"]:
            os.dup2(source, target, inheritable=True)
        for name, most in rlimits(job).items():
            number = getattr(resource, name)
            hard = resource.getrlimit(number)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(number, (most, most))
        os.chdir(job["folder"] or "/")
        os.umask(0o022)
        os.execvpe(program, command, environment)
    except OSError as error:
        os.write(2, f"cannot start {program}: {error}\n".encode())
    finally:
        os._exit(127)


def rlimits(job: Work) -> dict[str, int]:
    return {
        "RLIMIT_CPU": int(job["cpu"]) + 1,
        "RLIMIT_AS": job["memory"],
        "RLIMIT_FSIZE": job["disk"],
        "RLIMIT_NOFILE": job["open_files"],
        "RLIMIT_CORE": 0,
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_MSGQUEUE": 0,
    }


def open_gate(gate: tuple[int, int], job: Work) -> bool:
    """Let the sandbox go on once its user namespace is there: only from then on are its processes counted apart."""
    info, block = gate
    text = b""
    while not text.rstrip().endswith(b"}"):
        ready, _, _ = select.select([info], [], [], 30)
        part = os.read(info, 4096) if ready else b""
        if not part:
            return False
        text += part
    if counts_per_namespace():
        most = 2 * job["processes"] + 8  # above what `watch` tolerates: it is to see the limit broken, and say so
        with contextlib.suppress(OSError, ValueError):  # it has ended, or a lower limit holds: `watch` counts anyway
            resource.prlimit(json.loads(text)["child-pid"], resource.RLIMIT_NPROC, (most, most))
    os.write(block, b"x")
    os.close(info)
    os.close(block)
    return True


def counts_per_namespace() -> bool:
    """Linux counts processes per user and user namespace since 5.14; before, per user on the whole machine."""
    major, minor = os.uname().release.split(".")[:2]
    return (int(major), int("".join(filter(str.isdigit, minor)))) >= (5, 14)


class Feed:
    """Writes the program's standard input, as fast as it reads."""

    def __init__(self, fd: int, data: bytes) -> None:
        self.fd, self.left = fd, memoryview(data)
        os.set_blocking(fd, False)
        self.open = True
        self.push()

    def push(self) -> None:
        try:
            while self.left:
                self.left = self.left[os.write(self.fd, self.left[:65536]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            pass
        os.close(self.fd)
        self.open = False


def watch(job: Work, pid: int, begin: float, pumps: tuple[Pump, ...], feed: Feed) -> tuple[str, int | None]:
    """Wait for the end of the program, of a limit, or of whoever asked: (limit or '', wait status or None)."""
    poll = select.poll()
    poll.register(0, select.POLLIN | select.POLLHUP)
    by_fd = {pump.fd: pump for pump in pumps}
    for fd in by_fd:
        poll.register(fd, select.POLLIN | select.POLLHUP)
    if feed.open:
        poll.register(feed.fd, select.POLLOUT)
    looked = 0.0
    while True:
        for fd, _ in poll.poll(TICK * 1000):
            if fd == 0:
                return "asked", None
            if fd == feed.fd and fd not in by_fd:
                feed.push()
                if not feed.open:
                    poll.unregister(fd)
            elif not by_fd[fd].drain():
                poll.unregister(fd)
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return "", status
        now = time.monotonic()
        if now - begin > job["wall"]:
            return "wall", None
        if now - looked >= TICK:
            limit = over(job)
            if limit:
                return limit, None
            looked = time.monotonic()


def over(job: Work) -> str:
    """The limit that the tree has broken, or ''."""
    tree = descendants(job["processes"] + 50)
    usage = [use for one in tree if (use := usage_of(one)) is not None]
    overhead = 2 if job["folder"] is None else 0  # the sandbox's own two processes
    if sum(threads for _, threads, _ in usage) - overhead > job["processes"] or len(tree) > job["processes"] + 49:
        return "processes"
    if sum(memory for *_, memory in usage) + (used_disk(tree) if job["folder"] is None else 0) > job["memory"]:
        return "memory"
    return "cpu" if sum(seconds for seconds, *_ in usage) > job["cpu"] else ""


def descendants(most: int) -> list[int]:
    """Processes below this one, nearest first; stops at about `most`."""
    found = children(os.getpid())
    for one in found:
        if len(found) >= most:
            break
        found += children(one)
    return found


def children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                found += map(int, file.read().split())
    except OSError:
        pass  # it has ended meanwhile
    return found


def usage_of(pid: int) -> tuple[float, int, int] | None:
    """(CPU seconds with those of reaped children, threads, bytes of memory that are no file's), or None if it ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read().rpartition(b")")[2].split()
        with open(f"/proc/{pid}/statm", "rb") as file:
            _, resident, shared = map(int, file.read().split()[:3])
        memory = resident - shared
        if shared * PAGE > 32 << 20:  # few have that many file pages: see what of it is shared memory
            memory += shared_memory(pid) // PAGE
    except OSError:
        return None
    return sum(map(int, stat[11:15])) / CLOCK, int(stat[17]), memory * PAGE


def shared_memory(pid: int) -> int:
    with open(f"/proc/{pid}/status", "rb") as file:
        for line in file:
            if line.startswith(b"RssShmem:"):
                return int(line.split()[1]) * 1024
    return 0


def used_disk(tree: list[int]) -> int:
    """Bytes in the private folder, seen through any process of the sandbox that lets us."""
    for pid in reversed(tree[-3:]):
        try:
            found = os.statvfs(f"/proc/{pid}/root/box")
        except OSError:
            continue
        return (found.f_blocks - found.f_bfree) * found.f_frsize
    return 0


def end_all(pid: int, code: int | None) -> int | None:
    """Kill and reap all that is left below; the wait status of `pid`, None when it was killed here.

    The sandbox's first process would take its whole namespace along, but among hundreds of forking processes it may
    wait long for its turn to die. So each is killed from here, parents before their children are looked up: a killed
    process forks no more.
    """
    if code is None:
        kill(pid)
    while True:
        found = children(os.getpid())
        for one in found:
            kill(one)
            found += children(one)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return code
        time.sleep(0.001)


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def answer(limit: str, code: int | None, seconds: float, pumps: tuple[Pump, ...], status: int | None) -> None:
    outcome = {
        "limit": limit,
        "code": None if code is None else os.waitstatus_to_exitcode(code),
        "started": True,
        "seconds": seconds,
        "truncated": any(pump.truncated for pump in pumps),
        "sizes": [pump.size for pump in pumps],
    }
    if status is not None and not limit:
        outcome["started"] = b"exit-code" in os.read(status, 65536)
    with os.fdopen(1, "wb") as file:
        file.write(json.dumps(outcome).encode() + b"\n" + b"".join(pumps[0].kept) + b"".join(pumps[1].kept))


if __name__ == "__main__":
    main()
