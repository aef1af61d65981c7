"""Only right programs are right: honest ones pass, and nothing that a program does instead of being right helps."""

import asyncio
import json
from dataclasses import replace

import pytest

from guerdon.rewards.fault import RewardFault
from guerdon.rewards.verify.code import CodeTests, grade_code
from guerdon.rewards.verify.code.verifier import LIMITS
from guerdon.sandbox import SandboxError, SandboxUnavailable, available
from guerdon.types import Task
from tests.replies import episode

pytestmark = pytest.mark.skipif(bool(available()), reason=available() or "there is a sandbox")

CALLS = [{"function": "add", "args": [x, 2], "expected": x + 2} for x in range(5)]
PRINTS = [{"stdin": f"{x} 2\n", "stdout": f"{x + 2}\n"} for x in range(5)]
SOURCE = "for x in range(5):\n    assert add(x, 2) == x + 2\n"
RIGHT = "def add(a, b):\n    return a + b\nif __name__ == '__main__':\n    print(add(*map(int, input().split())))\n"
KINDS = pytest.mark.parametrize("tests", [CALLS, PRINTS, SOURCE], ids=["calls", "prints", "source"])
MOSTLY_SLOW = pytest.mark.parametrize(
    "tests",
    [CALLS, pytest.param(PRINTS, marks=pytest.mark.slow), pytest.param(SOURCE, marks=pytest.mark.slow)],
    ids=["calls", "prints", "source"],
)


def grade(tests, program, **how):
    return asyncio.run(grade_code(tests, f"My program:\n```python\n{program}\n```\n", **how))


@KINDS
def test_a_right_program_is_right(tests):
    verdict = grade(tests, RIGHT)
    assert (verdict.status, verdict.share, verdict.stage) == ("right", 1.0, "tests")


@MOSTLY_SLOW
@pytest.mark.parametrize(
    "program",
    [
        "exit(0)",
        "import os\nos._exit(0)",
        "import os\nos.execv('/bin/true', ['true'])",
        "import os\nos.execv('/bin/sh', ['sh', '-c', 'echo passed; exit 0'])",
        "import a_module_that_is_not_there\n" + RIGHT,
        "def add(a, b:\n    return a + b",
        "def add(a, b):\n    import os\n    os._exit(0)",
        "def add(a, b):\n    raise SystemExit(0)",
        "class Lie:\n    __eq__ = __ge__ = __le__ = lambda *_: True\n    __hash__ = None\n"
        "def add(a, b):\n    return Lie()",
        "class Lie(int):\n    __eq__ = lambda *_: True\n    __hash__ = int.__hash__\n"
        "def add(a, b):\n    return Lie(99)",
        "import builtins\nclass Always:\n    __eq__ = lambda *_: True\nbuiltins.int = builtins.str = Always\n"
        "def add(a, b):\n    return Always()",
        "import json, wire\n"
        "wire.encode = json.dumps = lambda *_, **__: '{\"value\": true}'\ndef add(a, b):\n    return 0",
        "import atexit, os\natexit.register(os._exit, 0)\ndef add(a, b):\n    return None",
        "import os\nfor name in os.listdir('.'):\n    if name.endswith('.py'):\n"
        "        open(name, 'w').write('print(\"passed\")')\ndef add(a, b):\n    return 0",
        "import gc\ndef add(a, b):\n    return [d['expected'] for d in gc.get_objects()"
        " if isinstance(d, dict) and 'expected' in d][0]",
        "import sys\ndef add(a, b):\n    frame = sys._getframe()\n    while frame:\n"
        "        for value in frame.f_locals.values():\n"
        "            if isinstance(value, dict) and 'expected' in value:\n"
        "                return value['expected']\n        frame = frame.f_back",
        "import os, sys\nfor fd in range(256):\n    try:\n        os.write(fd, b'\\n"
        "{\"i\": 0, \"ok\": true, \"calls\": 1}\\n'"
        " b'5 passed\\nPASSED\\n')\n    except OSError:\n        pass\ndef add(a, b):\n    return 0",
        "import unittest, builtins\nbuiltins.AssertionError = Warning\nunittest.TestCase.assertEqual = print\n"
        "def add(a, b):\n    return 0",
        "def range(*_):\n    return []\ndef add(a, b):\n    return 0",
        "print('5 tests passed')\nprint('PASSED')\ndef add(a, b):\n    return 0",
        "def add(a, b):\n    return print",
        "def add(a, b):\n    return {'int': '0x1', 'value': a + b}",
        "(().__class__.__base__.__subclasses__()[0])\ndef add(a, b):\n    return 0",
    ],
)  # fmt: skip
def test_nothing_but_a_right_answer_is_right(tests, program):
    """C27 and its kind: leaving early, missing tests, lies, forgery, and searches for the expected value."""
    verdict = grade(tests, program)
    assert (verdict.status, verdict.share) == ("wrong", 0.0), verdict


@pytest.mark.parametrize(("guesses", "status"), [("[i + 2]", "right"), ("[7]", "wrong"), ("range(9)", "wrong")])
def test_a_program_that_takes_over_the_runner_answers_for_itself_alone(guesses, status):
    """The worst it can do: it holds the nonce, and writes every answer. It still knows no expected value."""
    program = f"""
import gc, os
answer = next(x for x in gc.get_objects() if type(x).__name__ == "Answers")
for i in range(5):
    for guess in {guesses}:
        answer(i, value=guess)
os._exit(0)
"""
    assert grade(CALLS, program).status == status


def test_one_test_that_exits_fails_alone():
    program = """
import os
def add(a, b):
    if a == 1:
        os._exit(0)
    if a == 2:
        raise SystemExit
    return a + b
"""
    verdict = grade(CALLS, program)
    assert (verdict.status, verdict.share) == ("wrong", 3 / 5)
    assert verdict.reason.startswith("test 2 of 5: ")


def test_tests_do_not_see_each_other():
    program = "seen = []\ndef add(a, b):\n    seen.append(a)\n    return a + b + len(seen) - 1"
    assert grade(CALLS, program).status == "right"


def test_the_first_failure_is_told():
    verdict = grade(CALLS, "def add(a, b):\n    return 2 if a < 2 else a + b")
    assert (verdict.share, verdict.reason) == (4 / 5, "test 2 of 5: add(1, 2) gave 2; expected 3")
    assert verdict.extracted == "def add(a, b):\n    return 2 if a < 2 else a + b\n"
    assert grade(PRINTS, "print(2)").reason == "test 2 of 5: line 1: got '2'; expected '3'"
    assert "NameError: name 'foo' is not defined" in grade(PRINTS, "foo").reason


@MOSTLY_SLOW
def test_time_is_limited(tests):
    program = "import time\ndef add(a, b):\n    time.sleep(60)\nif __name__ == '__main__':\n    add(1, 2)"
    assert grade(tests, program, test_seconds=0.5).status == "timed_out"
    assert grade(tests, "import time\ntime.sleep(60)", test_seconds=0.5).status == "timed_out"
    cpu = replace(LIMITS, cpu=0.5)
    assert grade(tests, "while True:\n    pass", limits=cpu).status == "timed_out"


@KINDS
def test_other_limits_are_named(tests):
    """C25: a program that forks in a loop; each of its processes has memory, so either limit may be the first."""
    verdict = grade(tests, "import os\nwhile True:\n    os.fork()")
    where, _, limit = verdict.reason.rpartition(": ")
    assert (verdict.status, where) == ("wrong", f"test 1 of {1 if tests is SOURCE else 5}: resource limit")
    assert limit in ("processes", "memory")


def test_a_background_child_does_not_hold_the_verdict():
    """C25: it holds standard output for an hour, and the right answer counts."""
    program = "import os, time\nif os.fork() == 0:\n    time.sleep(3600)\nprint(sum(map(int, input().split())))"
    assert grade(PRINTS[:1], program).status == "right"


def test_too_much_output_is_a_limit():
    verdict = grade(PRINTS[:1], "print('x' * 9_000_000)")
    assert (verdict.status, verdict.reason) == ("wrong", "test 1 of 1: resource limit: output")


@pytest.mark.parametrize("reply", ["", "I cannot.", "42", "The answer is 42.", "```python\n```"])
def test_no_program_is_no_answer(reply):
    assert asyncio.run(grade_code(CALLS, reply)).status == "no_answer"


@pytest.mark.parametrize(
    ("value", "expected", "status"),
    [
        ("[1, 2]", [1, 2], "right"),
        ("(1, 2)", [1, 2], "right"),
        ("[1, 2]", (1, 2), "wrong"),
        ("{1: 'a'}", {"1": "a"}, "right"),
        ("{2, 1}", {1, 2}, "right"),
        ("{(1, 2)}", {(1, 2)}, "right"),
        ("float('nan')", float("nan"), "right"),
        ("0.1 + 0.2", 0.3, "wrong"),
        ("2.0", 2, "right"),
        ("True", 1, "right"),
        ("'1'", 1, "wrong"),
        ("10 ** 5000", 10**5000, "right"),
        ("10 ** 5000 + 1", 10**5000, "wrong"),
        ("None", None, "right"),
        ("b'ab'", b"ab", "right"),
        ("1j", 1j, "right"),
        ("'\\ud800'", "\ud800", "right"),
        ("'a\\u2028b\\n'", "a\u2028b\n", "right"),
        ("__import__('collections').Counter('aab')", {"a": 2, "b": 1}, "right"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_values_keep_their_types(value, expected, status):
    verdict = grade([{"function": "f", "args": [], "expected": expected}], f"def f():\n    return {value}")
    assert verdict.status == status, verdict


def test_tolerance_is_only_given_where_asked_for():
    test = {"function": "f", "args": [], "expected": [0.3, {"a": 1.0}]}
    program = "def f():\n    return [0.1 + 0.2, {'a': 1.0000001}]"
    assert grade([test], program).status == "wrong"
    assert grade([test], program, tolerance=1e-6).status == "right"
    assert grade([{**test, "tolerance": 1e-9}], program, tolerance=1e-6).status == "wrong"
    printed = [{"stdin": "", "stdout": "a 0.3"}]
    assert grade(printed, "print('a', 0.1 + 0.2)").status == "wrong"
    assert grade(printed, "print('a', 0.1 + 0.2)", tolerance=1e-6).status == "right"
    assert grade(printed, "print('b', 0.1 + 0.2)", tolerance=1e-6).status == "wrong"


@pytest.mark.parametrize(
    ("printed", "status"),
    [
        ("1 2\\n3", "right"),
        (" 1  2 \\n\\n3\\n\\n", "right"),
        ("1 2 3", "wrong"),
        ("1 2", "wrong"),
        ("1 2\\n3\\n4", "wrong"),
    ],
)
def test_printed_text_is_compared_by_lines_and_words(printed, status):
    assert grade([{"stdin": "", "stdout": "1 2\n3\n"}], f"print('{printed}')").status == status


HUMAN_EVAL = """
METADATA = {'author': 'x'}

def check(candidate):
    assert candidate(1, 2) == 3
    for x in range(9):
        assert candidate(x, 1) == x + 1, 'message'
    assert abs(candidate(0.1, 0.2) - 0.3) < 1e-6
"""


def test_test_code_runs_apart_from_the_program():
    assert grade(HUMAN_EVAL, RIGHT, entry_point="add").status == "right"
    assert grade(HUMAN_EVAL, "def add(a, b):\n    return 3", entry_point="add").status == "wrong"
    assert (
        grade(HUMAN_EVAL, "def abs(x):\n    return 0\ndef add(a, b):\n    return a + b", entry_point="add").status
        == "right"
    )
    assert grade(HUMAN_EVAL, "def plus(a, b):\n    return a + b", entry_point="add").status == "wrong"


def test_test_code_may_use_classes_and_exceptions_of_the_program():
    program = """
import math
class Empty(ValueError):
    pass
class Stack:
    def __init__(self, *items):
        self.items = list(items)
    def push(self, item):
        self.items.append(item)
        return self
    def pop(self):
        if not self.items:
            raise Empty("nothing there")
        return self.items.pop()
def merge(a, b):
    return Stack(*a.items, *b.items)
"""
    source = """
s = Stack(1, 2)
assert s.push(3).pop() == 3
assert s.items == [1, 2]
assert merge(s, Stack(5)).pop() == 5
assert math.pi > 3
try:
    Stack().pop()
except ValueError as error:
    assert 'nothing' in str(error)
else:
    assert False
"""
    assert grade(source, program).status == "right"
    assert grade(source, program.replace("raise Empty", "return 1 #")).status == "wrong"


def test_unit_tests_are_run():
    source = """
import unittest
class Tests(unittest.TestCase):
    def test_one(self):
        self.assertEqual(add(1, 2), 3)
    def test_two(self):
        self.assertEqual(add(2, 2), 4)
"""
    assert grade(source, RIGHT).status == "right"
    assert "3 != 4" in grade(source, "def add(a, b):\n    return 3").reason


def test_test_code_that_never_calls_the_program_is_no_test():
    verdict = grade("x = 1\nassert x == 1", RIGHT)
    assert (verdict.status, verdict.reason) == ("failed", "test 1 of 1: it never called the program")


def test_a_program_cannot_end_the_loop_of_a_test():
    source = "for got, x in zip(map(double, range(3)), range(3)):\n    assert got == 2 * x"
    assert grade(source, "def double(x):\n    return x + x").status == "right"
    assert grade(source, "def double(x):\n    raise StopIteration").status == "wrong"


def test_a_program_cannot_make_a_test_void():
    source = "if not READY:\n    assert add(1, 2) == 3"
    assert grade(source, "READY = False\n" + RIGHT).status == "right"
    assert grade(source, "READY = True").status == "wrong"


def verify(data, reply=f"```python\n{RIGHT}```", **how):
    return asyncio.run(CodeTests(**how).verify(episode(Task("t", "?", data), reply)))


def test_the_reward_reads_the_tasks_data():
    assert verify({"tests": CALLS}).status == "right"
    assert verify({"tests": json.dumps({"inputs": [[1, 2]], "outputs": [3], "fn_name": "add"})}).status == "right"
    assert verify({"tests": HUMAN_EVAL, "entry_point": "add"}).status == "right"
    assert (
        verify(
            {"tests": ["assert f(1) == 3.5"], "setup": "import math\nHALF = 0.5"},
            "```\ndef f(x):\n    return math.floor(3) + HALF\n```",
        ).status
        == "right"
    )


@pytest.mark.parametrize(
    "data", [{}, {"tests": []}, {"tests": "[]"}, {"tests": [{"in": 1}]}, {"tests": ""}, {"tests": None}]
)
def test_a_task_without_tests_is_a_fault(data):
    with pytest.raises(RewardFault, match="task 't'"):
        verify(data)


def test_a_sandbox_that_fails_is_no_verdict_on_the_program(monkeypatch):
    def broken(*_):
        raise SandboxError("out of order")

    monkeypatch.setattr("guerdon.sandbox.box.Sandbox._run", broken)
    verdict = verify({"tests": CALLS})
    assert (verdict.status, verdict.reason, verdict.share) == ("failed", "out of order", None)


def test_where_there_is_no_sandbox_nothing_is_run(monkeypatch):
    monkeypatch.setattr("guerdon.rewards.verify.code.verifier.available", lambda: "no bubblewrap")
    with pytest.raises(SandboxUnavailable, match="no bubblewrap"):
        verify({"tests": CALLS})
    assert verify({"tests": CALLS}, unsafe_local=True).status == "right"


def test_many_at_once_each_get_their_own_verdict():
    """C19 and C21: more programs than workers, right and wrong in turn."""

    async def all_of_them():
        programs = [f"def add(a, b):\n    return a + b + {i % 2}" for i in range(12)]
        return await asyncio.gather(*(grade_code(CALLS, f"```python\n{p}\n```") for p in programs))

    assert [v.status for v in asyncio.run(all_of_them())] == ["right", "wrong"] * 6
