"""The tests of a task: read from the layouts in use, counted before anything runs.

Three kinds. What `InputTest` and `CallTest` expect never goes where the program runs: it is compared here, with what
the program answered. A `SourceTest` is code of the task that has to run; it does so apart from the program.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.rewards.verify.code.wire import Tree, encode

EXPECTED = (
    "a list of {'stdin': text, 'stdout': text}, {'function': name, 'args': [...], 'expected': value} or "
    "{'assert': source}, assert statements as text, or {'inputs': [...], 'outputs': [...], 'fn_name': name}"
)


@dataclass(frozen=True)
class InputTest:
    """Run as a script on `stdin`; right when it ends with code 0 having printed `stdout`."""

    stdin: str
    stdout: str
    tolerance: float | None = None


@dataclass(frozen=True)
class CallTest:
    """Call a function of the program; right when the answer equals one of `expected` (trees of `wire.encode`).

    loose: the expected values come from JSON (see `wire.same`). function: a name, or 'Class.method'.
    """

    function: str
    args: Tree
    kwargs: Tree
    expected: tuple[Tree, ...]
    tolerance: float | None = None
    loose: bool = True


@dataclass(frozen=True)
class SourceTest:
    """Python code that talks to the program's functions by name; right when it runs through, having called one.

    entry_point: name of the program's function for code that defines `check(candidate)`.
    """

    source: str
    entry_point: str = ""


Test = InputTest | CallTest | SourceTest


def read_tests(tests: Any, entry_point: str = "", tolerance: float | None = None) -> list[Test]:
    """The tests of a task, in order; see EXPECTED for the layouts, each of which may come as JSON text as well.

    ValueError, naming the test, for anything else, and when there is none.
    """
    if isinstance(tests, str):
        tests = _json(tests)
    found: list[Test] = []
    if isinstance(tests, str):
        found = _from_source(tests, entry_point)
    elif isinstance(tests, Mapping):
        found = (
            _from_columns(tests, entry_point, tolerance)
            if "inputs" in tests
            else _one(tests, 1, entry_point, tolerance)
        )
    elif isinstance(tests, Sequence):
        for number, test in enumerate(tests, 1):
            found += _one(test, number, entry_point, tolerance)
    else:
        raise ValueError(f"the tests are {type(tests).__name__}; expected {EXPECTED}")
    if not found:
        raise ValueError(f"there are no tests; expected {EXPECTED}")
    return found


def _json(text: str) -> Any:
    """What JSON text holds; the text itself where it is none, which is then Python."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _one(test: Any, number: int, entry_point: str, tolerance: float | None) -> list[Test]:
    if isinstance(test, str):
        return _from_source(test, entry_point)
    if not isinstance(test, Mapping):
        raise ValueError(f"test {number} is {type(test).__name__}; expected {EXPECTED}")
    tolerance = test.get("tolerance", tolerance)
    if "assert" in test:
        return _from_source(str(test["assert"]), entry_point)
    name = test.get("function") or test.get("fn_name") or entry_point
    if "expected" in test and (name or "call" in test):
        args, kwargs = test.get("args", []), test.get("kwargs", {})
        if "call" in test:
            name, args, kwargs = _read_call(str(test["call"]), number)
        return [CallTest(name, encode(list(args)), encode(dict(kwargs)), (encode(test["expected"]),), tolerance)]
    for stdin, stdout in (("stdin", "stdout"), ("input", "output")):
        if stdin in test and stdout in test:
            if test.get("testtype") == "functional":
                return [_called(name, _lines_of_json(test[stdin]), _json(test[stdout]), tolerance, number)]
            return [InputTest(_text(test[stdin]), _text(test[stdout]), tolerance)]
    raise ValueError(f"test {number} has {sorted(map(str, test))}; expected {EXPECTED}")


def _from_columns(tests: Mapping[str, Any], entry_point: str, tolerance: float | None) -> list[Test]:
    inputs, outputs = tests["inputs"], tests.get("outputs", [])
    if len(inputs) != len(outputs):
        raise ValueError(f"the tests have {len(inputs)} inputs and {len(outputs)} outputs; expected as many of each")
    name = tests.get("fn_name")
    if not name:
        return [InputTest(_text(i), _text(o), tolerance) for i, o in zip(inputs, outputs, strict=True)]
    return [_called(name, i, o, tolerance, n) for n, (i, o) in enumerate(zip(inputs, outputs, strict=True), 1)]


def _called(name: str, args: Any, expected: Any, tolerance: float | None, number: int) -> CallTest:
    """A call as APPS and TACO write it, where the expected value may be wrapped in a list of one."""
    if not name:
        raise ValueError(f"test {number} calls a function that is not named; expected a 'function' or 'fn_name'")
    args = _lines_of_json(args) if isinstance(args, str) else args
    wrapped = isinstance(expected, list) and len(expected) == 1
    accepted = (encode(expected), encode(expected[0])) if wrapped else (encode(expected),)
    return CallTest(name, encode(list(args)), encode({}), accepted, tolerance)


def _lines_of_json(text: Any) -> list[Any]:
    return [_json(line) for line in text.splitlines()] if isinstance(text, str) else list(text)


def _text(value: Any) -> str:
    """Text, or a list of lines."""
    return value if isinstance(value, str) else "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def _read_call(text: str, number: int) -> tuple[str, list[Any], dict[str, Any]]:
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"test {number}: the call {text[:80]!r} is not Python: {error}") from None
    found = _literal_call(call)
    if found is None:
        raise ValueError(f"test {number}: the call {text[:80]!r} is not of the form name(literal, ...)")
    return found


def _from_source(source: str, entry_point: str) -> list[Test]:
    """Asserts that compare a call with a literal become calls. Of code that is nothing but asserts, each other one is a
    test of its own; other code is one test as a whole, as its lines may build on each other."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"the test {source[:80]!r} is not Python: {error}") from None
    checks = [line for line in body if isinstance(line, ast.FunctionDef) and line.name == "check"]
    if checks and not entry_point and not any(isinstance(line, ast.Expr | ast.Assert) for line in body):
        raise ValueError("the test defines check() and does not call it; expected an 'entry_point' beside the tests")
    if checks and entry_point:
        renamed = {checks[-1].args.args[0].arg: entry_point} if checks[-1].args.args else {}
        calls = [_as_call(line, renamed) for line in checks[-1].body if not _says_nothing(line)]
        if calls and all(calls) and not any(isinstance(line, ast.Assert) for line in body):
            return [call for call in calls if call is not None]
        return [SourceTest(source, entry_point)]
    if not all(isinstance(line, _STATELESS) or _says_nothing(line) for line in body):
        return [SourceTest(source, entry_point)]
    imports = [line for line in body if isinstance(line, _IMPORTS)]
    imported = {alias.asname or alias.name for line in imports for alias in line.names}
    tests: list[Test] = []
    for line in body:
        if isinstance(line, ast.Assert):
            call = _as_call(line, {})
            alone = SourceTest("\n".join(map(ast.unparse, [*imports, line])), entry_point)
            tests.append(alone if call is None or call.function in imported else call)
    return tests


_IMPORTS = (ast.Import, ast.ImportFrom)
_STATELESS = (*_IMPORTS, ast.Assert)


def _says_nothing(line: ast.stmt) -> bool:
    return isinstance(line, ast.Pass) or (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))


def _as_call(line: ast.stmt, renamed: Mapping[str, str]) -> CallTest | None:
    """`assert f(literals) == literal` (or the other way round) as a call; None for any other statement."""
    test = line.test if isinstance(line, ast.Assert) else None
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return None
    for call, value in ((test.left, test.comparators[0]), (test.comparators[0], test.left)):
        found = _literal_call(call)
        try:
            expected = encode(ast.literal_eval(value))
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
        if found is not None:
            name, args, kwargs = found
            return CallTest(renamed.get(name, name), encode(args), encode(kwargs), (expected,), None, loose=False)
    return None


def _literal_call(call: ast.expr) -> tuple[str, list[Any], dict[str, Any]] | None:
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
        return None
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    try:
        args = [ast.literal_eval(arg) for arg in call.args]
        return call.func.id, args, {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
