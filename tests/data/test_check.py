"""Lengths and repetitions, counted by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from guerdon.data.check import characters, repeats, spread
from guerdon.data.row import Row


def test_repeated_rows_and_prompts_answered_in_two_ways():
    rows = [
        Row(1, prompt="a", answer="1"),
        Row(3, prompt="b", answer="1"),
        Row(4, prompt="a", answer="1"),
        Row(5, prompt="b", answer="2"),
        Row(8, prompt="b", answer="2"),
        Row(9, prompt="c", answer=1),
        Row(10, prompt="c", answer="1"),
    ]
    found = repeats(rows)
    assert found.same == [[1, 4], [5, 8]]
    assert found.conflicting == [[3, 5, 8], [9, 10]]


def test_conversations_repeat_by_what_they_say():
    user = {"role": "user", "content": "q"}
    first, second = [user, {"role": "assistant", "content": "r"}], [user, {"content": "s", "role": "assistant"}]
    assert repeats([Row(1, messages=first), Row(2, messages=first), Row(3, messages=second)]).same == [[1, 2]]
    pairs = [Row(1, chosen=first, rejected=second), Row(2, chosen=second, rejected=first)]
    assert (repeats(pairs).same, repeats(pairs).conflicting) == ([], [[1, 2]])


def test_spread():
    assert spread([]) is None
    assert spread([3]) == {"min": 3, "median": 3, "p95": 3, "max": 3}
    assert spread(range(1, 101)) == {"min": 1, "median": 50, "p95": 95, "max": 100}


@given(st.lists(st.integers(0, 50), min_size=1))
def test_half_of_the_values_are_at_most_the_median(values: list[int]):
    found = spread(values)
    assert found is not None
    for name, share in (("median", 0.5), ("p95", 0.95)):
        assert sum(value <= found[name] for value in values) >= share * len(values)
        assert sum(value < found[name] for value in values) < share * len(values)
    assert (found["min"], found["max"]) == (min(values), max(values))


def test_characters_of_prompts_and_of_every_reply():
    rows = [Row(1, prompt="abc", chosen="1", rejected="22"), Row(2, prompt="a", steps=(("x", True), ("yz", False)))]
    assert characters(rows) == {
        "prompt": {"min": 1, "median": 1, "p95": 3, "max": 3},
        "target": {"min": 1, "median": 2, "p95": 4, "max": 4},
    }
