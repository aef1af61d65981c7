"""Tests in the layouts of the field, read alike and counted."""

import json

import pytest

from guerdon.rewards.verify.code.suite import CallTest, InputTest, SourceTest, read_tests


def call(name, args, expected, loose=True, **kwargs):
    pairs = {"dict": [[key, value] for key, value in kwargs.items()]}
    return CallTest(name, args, pairs, tuple(expected), None, loose)


@pytest.mark.parametrize(
    ("tests", "read"),
    [
        ([{"stdin": "1", "stdout": "2"}], [InputTest("1", "2")]),
        ([{"input": "1", "output": "2", "testtype": "stdin"}], [InputTest("1", "2")]),
        ({"stdin": "1", "stdout": "2", "tolerance": 0.1}, [InputTest("1", "2", 0.1)]),
        ({"inputs": ["1\n", ["2", "3"]], "outputs": ["x\n", ["y", "z"]]},
         [InputTest("1\n", "x\n"), InputTest("2\n3", "y\nz")]),
        ({"inputs": [[1, [2]]], "outputs": [3], "fn_name": "f"}, [call("f", [1, [2]], [3])]),
        ({"inputs": [[1]], "outputs": [[3]], "fn_name": "f"}, [call("f", [1], [[3], 3])]),
        ({"inputs": ["1\n[2]"], "outputs": [True], "fn_name": "f"}, [call("f", [1, [2]], [True])]),
        ([{"function": "f", "args": [1], "kwargs": {"b": 2}, "expected": None}], [call("f", [1], [None], b=2)]),
        ([{"call": "f(1, b=[2])", "expected": 3}], [call("f", [1], [3], b=[2])]),
        ([{"assert": "assert f(1) == 2"}], [call("f", [1], [2], False)]),
        (["assert f(1) == 2", "assert 2 == f(-1), 'no'"], [call("f", [1], [2], False), call("f", [-1], [2], False)]),
        ("assert f((1,)) == {2}\nassert f(1) > 2",
         [call("f", [{"tuple": [1]}], [{"set": [2]}], False), SourceTest("assert f(1) > 2")]),
        ("import math\nassert f(math.pi) == 3", [SourceTest("import math\nassert f(math.pi) == 3")]),
        ("from math import floor\nassert floor(1.5) == 1",
         [SourceTest("from math import floor\nassert floor(1.5) == 1")]),
        ("s = S()\nassert s.pop() == 1", [SourceTest("s = S()\nassert s.pop() == 1")]),
        ("assert f(*[1]) == 1", [SourceTest("assert f(*[1]) == 1")]),
        ("assert f(x) == 1", [SourceTest("assert f(x) == 1")]),
        ("assert f(1) == 1 == 1", [SourceTest("assert f(1) == 1 == 1")]),
    ],
    ids=range(18),
)  # fmt: skip
def test_layouts(tests, read):
    assert read_tests(tests) == read
    if not isinstance(tests, str):
        assert read_tests(json.dumps(tests)) == read


def test_a_check_of_nothing_but_simple_asserts_becomes_calls():
    source = 'X = {}\ndef check(candidate):\n    """Doc."""\n'
    source += '    assert candidate(1) == 2\n    assert candidate(b=3) == [4], "x"\n'
    assert read_tests(source, "f") == [call("f", [1], [2], False), call("f", [], [[4]], False, b=3)]
    looped = source + "    for x in range(3):\n        assert candidate(x) == x\n"
    assert read_tests(looped, "f") == [SourceTest(looped, "f")]


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        (None, "NoneType"),
        ([], "no tests"),
        ("", "no tests"),
        ({}, r"test 1 has \[\]"),
        ([{"stdin": "1"}], r"test 1 has \['stdin'\]"),
        ([3], "test 1 is int"),
        ([{"expected": 3, "args": []}], "test 1 has"),
        ({"inputs": [1, 2], "outputs": [1]}, "2 inputs and 1 outputs"),
        ("assert f(", "is not Python"),
        ("def check(candidate):\n    assert candidate(1)", "expected an 'entry_point'"),
        ([{"call": "f(x)", "expected": 1}], "not of the form"),
        ([{"call": "f(", "expected": 1}], "is not Python"),
        ([{"stdin": "1", "stdout": "1"}, {"x": 1}], r"test 2 has \['x'\]"),
    ],
)
def test_what_cannot_be_read_is_named(tests, message):
    with pytest.raises(ValueError, match=message):
        read_tests(tests)
