"""Runs inside the sandbox, beside the program: feeds it each test's input and passes on what it answers.

Stand-alone, put into the sandbox as a file. It knows no expected value, so nothing in here is worth breaking: all that
a program can gain by taking it over is to write the answers itself. Every test runs in a process of its own, forked
after the program was loaded, so that one which exits, crashes or hangs only fails that test.

Standard input: one JSON object with `nonce`, `tests` and `seconds`. Standard output: one line of JSON per test with
the nonce, the test's number `i` and one of `value` (see wire.py), `out` (printed text), `error` or `timeout`.
"""

from __future__ import annotations

import _sitebuiltins
import builtins
import json
import os
import select
import signal
import sys
import time
import traceback
import types
from typing import Any

import wire  # type: ignore[import-not-found]

PROGRAM = "program.py"


def main() -> None:
    job = json.load(sys.stdin)
    channel = os.dup(1)
    source = prepare()
    answer = Answers(channel, job["nonce"])
    tests = list(enumerate(job["tests"]))
    scripts = [(i, test) for i, test in tests if "stdin" in test]
    calls = [(i, test) for i, test in tests if "function" in test]
    for i, test in scripts:
        if not run_script(source, i, test, job["seconds"], answer):
            return
    if calls:
        load_and_call(source, calls, job["seconds"], answer)


class Answers:
    """The way out."""

    def __init__(self, channel: int, nonce: str) -> None:
        self.channel, self.nonce = channel, nonce

    def __call__(self, i: int, **what: Any) -> None:
        line = memoryview(f"\n{json.dumps({'nonce': self.nonce, 'i': i, **what})}\n".encode())
        while line:
            line = line[os.write(self.channel, line) :]


def prepare() -> str:
    """The program's source. Standard input and output are taken away from it, so as not to meet them by accident."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    for name in ("exit", "quit"):  # what the module site would bring
        setattr(builtins, name, _sitebuiltins.Quitter(name, "end of file"))
    with open(PROGRAM, encoding="utf-8", errors="surrogatepass") as file:
        return file.read()


def run_script(source: str, i: int, test: dict[str, Any], seconds: float, answer: Answers) -> bool:
    """One test on standard input and output; False when it took too long, which ends the run."""
    paths = [f"tmp/.{i}.{name}" for name in ("in", "out", "err")]
    with open(paths[0], "w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(test["stdin"])
    pid = os.fork()
    if pid == 0:
        as_script(source, paths)
    code = wait(pid, seconds)
    if code is None:
        answer(i, timeout=seconds)
        return False
    with open(paths[1], "rb") as out, open(paths[2], "rb") as err:
        said = err.read()[-500:].decode(errors="replace").strip().splitlines()
        if code:
            answer(i, error=f"exit code {code}{': ' + said[-1] if said else ''}")
        else:
            answer(i, out=out.read().decode(errors="replace"))
    for path in paths:
        os.unlink(path)
    return True


def as_script(source: str, paths: list[str]) -> None:
    code = 1
    try:
        for fd, path in enumerate(paths):
            os.dup2(os.open(path, os.O_RDONLY if fd == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC), fd)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.argv = [PROGRAM]
        module = types.ModuleType("__main__")
        module.__dict__["__file__"] = PROGRAM
        sys.modules["__main__"] = module
        exec(compile(source, PROGRAM, "exec"), module.__dict__)
        code = 0
    except SystemExit as stop:
        code = exit_code(stop)
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def exit_code(stop: SystemExit) -> int:
    if stop.code is None or isinstance(stop.code, int):
        return (stop.code or 0) & 255
    print(stop.code, file=sys.stderr)
    return 1


def load_and_call(source: str, calls: list[tuple[int, dict[str, Any]]], seconds: float, answer: Answers) -> None:
    """Load the program in a process of its own, and make each call in a fork of that."""
    ready, loaded = os.pipe()
    server = os.fork()
    if server == 0:
        try:
            serve(source, calls, seconds, answer, loaded)
        finally:
            os._exit(0)
    os.close(loaded)
    if not select.select([ready], [], [], seconds)[0]:
        os.kill(server, signal.SIGKILL)
        answer(calls[0][0], timeout=seconds)
    os.waitpid(server, 0)


def serve(source: str, calls: list[tuple[int, dict[str, Any]]], seconds: float, answer: Answers, loaded: int) -> None:
    try:
        module = load(source)
    except BaseException as error:
        for i, _ in calls:
            answer(i, error=f"loading the program raised {described(error)}")
        return
    os.write(loaded, b"x")
    for i, test in calls:
        pid = os.fork()
        if pid == 0:
            try:
                answer(i, **called(module, test))
            finally:
                os._exit(0)
        code = wait(pid, seconds)
        if code is None:
            answer(i, timeout=seconds)
            return
        if code:
            answer(i, error=f"the program ended with code {code}")


def load(source: str) -> types.ModuleType:
    module = types.ModuleType("program")
    sys.modules["program"] = module
    exec(compile(source, PROGRAM, "exec"), module.__dict__)
    return module


def called(module: types.ModuleType, test: dict[str, Any]) -> dict[str, Any]:
    try:
        function = find(module, test["function"])
        result = function(*wire.decode(test["args"]), **wire.decode(test["kwargs"]))
        return {"value": wire.encode(result)}
    except BaseException as error:
        return {"error": f"it raised {described(error)}"}


def find(module: types.ModuleType, name: str) -> Any:
    """A function of the program by name, a method as 'Class.method', or a method of the class `Solution`."""
    names = module.__dict__
    if name in names:
        return names[name]
    owner, _, method = name.rpartition(".")
    owner = owner or "Solution"
    if owner in names:
        return getattr(names[owner](), method)
    raise NameError(f"the program defines no {name!r}")


def described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def wait(pid: int, seconds: float) -> int | None:
    """The exit code of a child (negative: its signal), or None when it had to be killed after so many seconds."""
    deadline, pause = time.monotonic() + seconds, 0.0005
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None
        time.sleep(pause)
        pause = min(pause * 1.5, 0.01)


if __name__ == "__main__":
    main()
