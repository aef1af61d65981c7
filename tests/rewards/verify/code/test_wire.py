"""Plain values cross the sandbox's border unchanged, and nothing else crosses it."""

import json
import math
from collections import OrderedDict, namedtuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.rewards.verify.code.wire import decode, encode, same, shown

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
HASHABLE = st.recursive(SCALARS, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=6)
VALUES = st.recursive(
    HASHABLE,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.sets(HASHABLE, max_size=3)
        | st.dictionaries(HASHABLE, inner, max_size=3)
    ),
    max_leaves=12,
)


def over(value):
    return json.loads(json.dumps(encode(value)))


@given(VALUES)
@settings(max_examples=100, deadline=None)
def test_values_come_back_as_they_were(value):
    back = decode(over(value))
    assert back == value
    assert same(over(value), encode(value))
    assert isinstance(shown(over(value)), str)


@given(VALUES, VALUES)
@settings(max_examples=200, deadline=None)
def test_equality_is_pythons(one, other):
    assert same(over(one), over(other)) == (one == other)


@pytest.mark.parametrize(
    ("got", "wanted", "equal"),
    [
        (1, 1.0, True),
        (True, 1, True),
        ({1: 2}, {1.0: 2.0}, True),
        ({True}, {1}, True),
        ({0.5}, {0.5}, True),
        ({math.inf}, {math.inf}, True),
        ("1", 1, False),
        (None, False, False),
        (b"a", "a", False),
        ((1,), [1], False),
        ({}, set(), False),
        ([], {}, False),
        ({"#1"}, {1}, False),
        (math.nan, math.nan, True),
        (10**400, 1.5, False),
    ],
)
def test_equality_of_kinds(got, wanted, equal):
    assert same(over(got), encode(wanted)) is equal
    assert same(over([got]), encode([wanted])) is equal


def test_looseness_forgives_what_json_cannot_write():
    assert same(over({1: (2, (3,))}), encode({"1": [2, [3]]}), loose=True)
    assert not same(over({1: (2, (3,))}), encode({"1": [2, [3]]}))
    assert not same(over([1]), encode((1,)), loose=True)


def test_tolerance_is_relative_and_absolute():
    assert same(over([1e9 + 1]), encode([1e9]), tolerance=1e-6)
    assert same(over([1e-9]), encode([0]), tolerance=1e-6)
    assert not same(over([1.1]), encode([1.0]), tolerance=1e-6)
    assert not same(over([10**400]), encode([1.0]), tolerance=1e-6)


def test_subclasses_are_the_plain_values_they_hold():
    class Lie(str):
        def __eq__(self, other):
            return True

        __hash__ = str.__hash__

    point = namedtuple("point", "x y")(1, 2)
    assert over([Lie("a"), point, OrderedDict(a=1)]) == ["a", {"tuple": [1, 2]}, {"dict": [["a", 1]]}]
    assert not same(over(Lie("a")), encode("b"))


def test_other_objects_are_equal_to_nothing():
    class Lie:
        def __eq__(self, other):
            return True

        __hash__ = None

    assert not same(over(Lie()), encode(1))
    assert not same(over(Lie()), encode(Lie()))
    assert encode(Lie(), lambda value: {"object": 3}) == {"object": 3}
    with pytest.raises(ValueError, match="unknown kind"):
        decode(over(Lie()))


def test_depth_is_limited():
    deep = []
    for _ in range(300):
        deep = [deep]
    with pytest.raises(ValueError, match="nested deeper than 200"):
        encode(deep)


def test_colliding_keys_cost_nothing_special():
    """Multiples of 2**61 - 1 all have the hash 0: a set of them takes a minute to build, and none is built here."""
    hostile = {"set": [{"int": hex(i * (2**61 - 1))} for i in range(1, 100_000)]}
    assert not same(hostile, encode({1}))
    assert not same({"dict": [[key, 1] for key in hostile["set"]]}, encode({1: 1}))
