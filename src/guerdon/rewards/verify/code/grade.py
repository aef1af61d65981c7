"""Grading one program: what goes into the sandboxes, what came out, and the comparison, which happens here.

Whatever a program writes is data. Nothing but the answers to calls and the text printed for inputs is read of it, each
tied to a test by number and to the run by a random nonce; what it expected is known on this side only. Tests were
counted before: one without exactly one answer is not passed, whatever the exit code.
"""

from __future__ import annotations

import ast
import builtins
import json
import math
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from guerdon.rewards.verify.code import wire
from guerdon.rewards.verify.code.suite import CallTest, InputTest, SourceTest, Test
from guerdon.sandbox import Limits, Result, Sandbox, Work
from guerdon.types import Status, Verdict

STAGE = "tests"


@dataclass(frozen=True)
class Found:
    """What was found out about one test. status: 'passed', 'failed', 'timed_out', or 'void' (the test is no test)."""

    status: str
    reason: str = ""


async def grade(program: str, tests: Sequence[Test], sandbox: Sandbox, limits: Limits, test_seconds: float) -> Verdict:
    """The verdict on a program. SandboxError when the sandbox fails."""
    numbered = dict(enumerate(tests))
    checks = {i: test for i, test in numbered.items() if isinstance(test, SourceTest)}
    fed = {i: test for i, test in numbered.items() if not isinstance(test, SourceTest)}
    found = {**(await _feed(program, fed, sandbox, limits, test_seconds))} if fed else {}
    if checks and all(one.status != "timed_out" for one in found.values()):
        found |= await _check(program, checks, sandbox, limits, test_seconds)
    return _verdict(program, [found.get(i, Found("failed", "it was not run")) for i in numbered])


def _verdict(program: str, found: Sequence[Found]) -> Verdict:
    passed = sum(one.status == "passed" for one in found)
    for number, one in enumerate(found, 1):
        where = f"test {number} of {len(found)}: {one.reason}"
        if one.status == "void":
            return Verdict("failed", where, program, STAGE)
        if one.status != "passed":
            status: Status = "timed_out" if one.status == "timed_out" else "wrong"
            return Verdict(status, where, program, STAGE, passed / len(found))
    return Verdict("right", f"passed {passed} of {passed} tests", program, STAGE, 1.0)


async def _feed(
    program: str, tests: Mapping[int, Test], sandbox: Sandbox, limits: Limits, seconds: float
) -> dict[int, Found]:
    """Inputs and calls: one sandbox with the program, which gets what it is asked and nothing else."""
    nonce, numbers = secrets.token_hex(16), list(tests)
    asked = [_question(test) for test in tests.values()]
    work = Work(
        {"program.py": program, "wire.py": _inside("wire"), "inside_runner.py": _inside("inside_runner")},
        ["python", "-S", "inside_runner.py"],
        json.dumps({"nonce": nonce, "tests": asked, "seconds": seconds}).encode(),
        replace(limits, output=max(limits.output, 2 * sum(map(_size, tests.values())))),
    )
    [result] = await sandbox.run_together_async([work])
    answers = _answers(result.stdout, nonce)
    return {i: _judge(tests[i], answers.get(at, []), result) for at, i in enumerate(numbers)}


def _question(test: Test) -> dict[str, Any]:
    if isinstance(test, InputTest):
        return {"stdin": test.stdin}
    assert isinstance(test, CallTest)
    return {"function": test.function, "args": test.args, "kwargs": test.kwargs}


def _size(test: Test) -> int:
    return len(json.dumps(test.stdout if isinstance(test, InputTest) else list(getattr(test, "expected", ()))))


def _answers(output: bytes, nonce: str) -> dict[int, list[dict[str, Any]]]:
    """The lines that carry the nonce, by test; everything else a program wrote is passed over."""
    found: dict[int, list[dict[str, Any]]] = {}
    for line in output.split(b"\n"):
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(answer, dict) and answer.get("nonce") == nonce and type(answer.get("i")) is int:
            found.setdefault(answer["i"], []).append(answer)
    return found


def _judge(test: Test, answers: Sequence[Mapping[str, Any]], result: Result) -> Found:
    if len(answers) != 1:
        return Found("failed", f"{len(answers)} answers where one is due") if answers else _missing(result)
    answer = answers[0]
    if "timeout" in answer:
        return Found("timed_out", f"no answer within {answer['timeout']} s"[:80])
    if "error" in answer:
        return Found("failed", _line(answer["error"]))
    if isinstance(test, InputTest) and isinstance(answer.get("out"), str):
        return _compare_text(answer["out"], test)
    if isinstance(test, CallTest) and "value" in answer:
        return _compare_value(answer["value"], test)
    return Found("failed", "the answer is not of the kind that was asked for")


def _missing(result: Result) -> Found:
    """Why there is no answer: what became of the whole run."""
    if result.status == "timed_out":
        return Found("timed_out", f"no answer within the limit of {result.limit} time")
    if result.status == "resource_limit":
        return Found("failed", f"resource limit: {result.limit}")
    if result.truncated:
        return Found("failed", "resource limit: output")
    said = result.stderr.decode(errors="replace").strip().splitlines()
    how = f"signal {-result.returncode}" if result.status == "signalled" else f"code {result.returncode}"
    return Found("failed", f"the program ended without an answer ({how}){': ' + _line(said[-1]) if said else ''}")


def _compare_value(value: wire.Tree, test: CallTest) -> Found:
    try:
        if any(wire.same(value, wanted, test.tolerance, test.loose) for wanted in test.expected):
            return Found("passed")
        got = wire.shown(value)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return Found("failed", "the answer is malformed")
    args = ", ".join([*map(wire.shown, test.args), *(f"{k}={wire.shown(v)}" for k, v in _pairs(test.kwargs))])
    args = args if len(args) <= 80 else args[:77] + "..."
    return Found("failed", _line(f"{test.function}({args}) gave {got}; expected {wire.shown(test.expected[0])}"))


def _pairs(kwargs: wire.Tree) -> Iterable[tuple[str, wire.Tree]]:
    return ((key, value) for key, value in kwargs["dict"])


def _compare_text(got: str, test: InputTest) -> Found:
    """Line by line and word by word: white space within and around lines and empty lines do not count."""
    mine, theirs = ([line.split() for line in text.splitlines() if line.split()] for text in (got, test.stdout))
    for number, wanted in enumerate(theirs):
        line = mine[number] if number < len(mine) else None
        if line is None:
            return Found("failed", f"printed {len(mine)} lines; expected {len(theirs)}")
        if len(line) != len(wanted) or not all(
            _same_word(a, b, test.tolerance) for a, b in zip(line, wanted, strict=True)
        ):
            spelled = (" ".join(words)[:80] for words in (line, wanted))
            return Found("failed", "line {}: got {!r}; expected {!r}".format(number + 1, *spelled))
    if len(mine) > len(theirs):
        return Found("failed", f"printed {len(mine)} lines; expected {len(theirs)}")
    return Found("passed")


def _same_word(got: str, wanted: str, tolerance: float | None) -> bool:
    if got == wanted or tolerance is None:
        return got == wanted
    try:
        return math.isclose(float(got), float(wanted), rel_tol=tolerance, abs_tol=tolerance)
    except ValueError:
        return False


async def _check(
    program: str, tests: Mapping[int, SourceTest], sandbox: Sandbox, limits: Limits, seconds: float
) -> dict[int, Found]:
    """Test code: it runs in one sandbox, the program in another, and only plain values pass between them."""
    nonce = secrets.token_hex(16)
    told: list[dict[str, Any]] = [
        {"i": i, "source": test.source, "entry_point": test.entry_point, "names": _names(test)}
        for i, test in tests.items()
    ]
    job = json.dumps({"nonce": nonce, "tests": told, "seconds": seconds}).encode()
    shared = {"wire.py": _inside("wire")}
    programs = {"program.py": program, "inside_runner.py": _inside("inside_runner")}
    works = [
        Work(
            {**shared, "inside_checks.py": _inside("inside_checks")}, ["python", "-S", "inside_checks.py"], job, limits
        ),
        Work(
            {**shared, **programs, "inside_candidate.py": _inside("inside_candidate")},
            ["python", "-S", "inside_candidate.py"],
            limits=limits,
        ),
    ]
    checks, candidate = await sandbox.run_together_async(works, [(0, 201, 1, 200), (1, 201, 0, 200)])
    answers = _answers(checks.stdout, nonce)
    return {at["i"]: _check_outcome(at, answers.get(at["i"], []), checks, candidate) for at in told}


def _check_outcome(
    test: Mapping[str, Any], answers: Sequence[Mapping[str, Any]], checks: Result, candidate: Result
) -> Found:
    """The other side of the pipe, the program's, explains what is missing; it makes no test pass or void."""
    if len(answers) != 1:
        return _missing(candidate if candidate.limit else checks)
    answer = answers[0]
    if "timeout" in answer:
        return Found("timed_out", f"no end within {answer['timeout']} s")
    if answer.get("ok") is True:
        if answer["calls"]:
            return Found("passed")
        return Found("failed" if test["names"] else "void", "it never called the program")
    if candidate.limit:
        return _missing(candidate)
    return Found("failed", _line(answer.get("error", "")))


def _names(test: SourceTest) -> list[str]:
    """What a test may get from the program: names it reads and does not define itself, never those of Python."""
    nodes = list(ast.walk(ast.parse(test.source)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    stored = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    own = {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    own |= {one.asname or one.name.split(".")[0] for node in nodes if isinstance(node, _IMPORTS) for one in node.names}
    wanted = ((read - stored) | called | {test.entry_point}) - (own - {test.entry_point}) - {""}
    return sorted(name for name in wanted if not hasattr(builtins, name) and not name.startswith("__"))


_IMPORTS = (ast.Import, ast.ImportFrom)


def _line(text: Any) -> str:
    return " ".join(str(text).split())[:300]


@lru_cache
def _inside(name: str) -> str:
    return Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
