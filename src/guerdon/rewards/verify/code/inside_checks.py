"""Runs inside a sandbox of its own: executes the task's test code, with stand-ins for the program's functions.

Stand-alone, put into the sandbox as a file. The program is in another sandbox and is reached over descriptors 200
(its answers) and 201 (requests); only plain values come back, so it cannot change what an assert means. Exceptions
come back as built-in ones of the same name. Objects of the program's own classes have attributes and methods here,
and nothing else: they are equal only to themselves.

Standard input: one JSON object with `nonce`, `tests` ({i, source, entry_point, names}) and `seconds`. Standard output:
per test one line of JSON with the nonce, `i`, and `ok` with the number of `calls`, or `error`, or `timeout`.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import json
import os
import signal
import sys
import unittest
from typing import Any

import wire  # type: ignore[import-not-found]

ANSWERS, REQUESTS = 200, 201


class CandidateError(Exception):
    """An exception of the program that is no built-in one."""


class Gone(BaseException):
    """The program has ended."""


class TooLate(BaseException):
    """The test took too long."""


class Link:
    """Requests to the program, one at a time, and the count of its calls in this test."""

    def __init__(self) -> None:
        self.answers = open(ANSWERS, "rb", buffering=1 << 16, closefd=False)  # noqa: SIM115
        self.calls, self.broken = 0, True

    def read(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.answers.readline() or b'{"gone": true}')
        return answer

    def say(self, request: dict[str, Any]) -> None:
        line = memoryview(json.dumps(request).encode() + b"\n")
        try:
            while line:
                line = line[os.write(REQUESTS, line) :]
        except BrokenPipeError:
            raise Gone("the program ended") from None

    def begin(self) -> None:
        self.calls, self.broken = 0, False
        self.say({"do": "begin"})

    def end(self) -> None:
        if not self.broken:
            with contextlib.suppress(Gone):
                self.say({"do": "end"})
                while not self.read().get("gone"):
                    pass
        self.broken = True

    def ask(self, **request: Any) -> Any:
        if self.broken:
            raise Gone("the program ended")
        self.say(request)
        answer = self.read()
        if answer.get("gone"):
            self.broken = True
            raise Gone("the program ended during a call")
        if "raised" in answer:
            raise translated(answer["raised"], str(answer["text"]))
        return wire.decode(answer["value"], self.stand_in)

    def stand_in(self, tree: dict[str, Any]) -> Any:
        """What stands here for what stayed there: a module of the standard library is the one of this side."""
        if tree.get("module") in sys.stdlib_module_names:
            return importlib.import_module(tree["module"])
        return Remote(self, int(tree["object"]))


def translated(names: list[str], text: str) -> Exception:
    """What to raise for an exception of the program. Not what ends a loop, which could leave asserts out."""
    for name in names:
        kind = getattr(builtins, str(name), None)
        if isinstance(kind, type) and issubclass(kind, Exception) and name not in _NOT_RAISED:
            with contextlib.suppress(TypeError):
                return kind(text)
    return CandidateError(f"{names[0]}: {text}")


_NOT_RAISED = ("Exception", "StopIteration", "StopAsyncIteration")


class Remote:
    """An object that stayed with the program."""

    def __init__(self, link: Link, number: int) -> None:
        self.__dict__["_link"], self.__dict__["_number"] = link, number

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._link.ask(do="get", object=self._number, name=name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._link.calls += 1
        known = {"args": wire.encode(list(args), number_of), "kwargs": wire.encode(kwargs, number_of)}
        return self._link.ask(do="call", object=self._number, **known)


def number_of(value: Any) -> Any:
    if isinstance(value, Remote):
        return {"object": value._number}
    raise TypeError(f"a test cannot hand the program an object of type {type(value).__name__}, only plain values")


def main() -> None:
    job = json.load(sys.stdin)
    channel = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    signal.signal(signal.SIGALRM, too_late)
    link = Link()
    signal.setitimer(signal.ITIMER_REAL, job["seconds"])
    for test in job["tests"]:
        found = outcome(test, link, job["seconds"])
        line = memoryview(f"\n{json.dumps({'nonce': job['nonce'], 'i': test['i'], **found})}\n".encode())
        while line:
            line = line[os.write(channel, line) :]
        if "timeout" in found:
            os._exit(0)
    os._exit(0)


def too_late(*_: Any) -> None:
    raise TooLate


loaded: list[str] = []


def outcome(test: dict[str, Any], link: Link, seconds: float) -> dict[str, Any]:
    try:
        if not loaded:
            loaded.append(str(link.read().get("loaded", "the program ended while it was loaded")))
        if loaded[0]:
            return {"error": loaded[0][:300]}
        signal.setitimer(signal.ITIMER_REAL, seconds)
        link.begin()
        execute(test, link)
        calls = link.calls
        link.end()
        return {"ok": True, "calls": calls}
    except TooLate:
        return {"timeout": seconds}
    except BaseException as error:
        found = {"error": f"{type(error).__name__}: {error}"[:300].rstrip(": ")}
        try:
            link.end()
        except TooLate:
            return {"timeout": seconds}
        except BaseException:
            link.broken = True
        return found
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def execute(test: dict[str, Any], link: Link) -> None:
    space: dict[str, Any] = {"__name__": "__tests__"}
    for name in test["names"]:
        with contextlib.suppress(NameError):
            space[name] = link.ask(do="name", name=name)
    exec(compile(test["source"], "test", "exec"), space)
    if test["entry_point"] and callable(space.get("check")):
        space["check"](space[test["entry_point"]])
    cases = [kind for kind in space.values() if isinstance(kind, type) and issubclass(kind, unittest.TestCase)]
    for case in cases:
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
        for _, trace in (*result.failures, *result.errors):
            raise AssertionError(trace.strip().splitlines()[-1])
        if not result.testsRun or result.skipped:
            raise AssertionError("the unit tests were not run")


if __name__ == "__main__":
    main()
