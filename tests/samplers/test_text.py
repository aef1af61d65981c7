"""Stop strings in growing text: found in time, across pieces, and through half characters."""

from __future__ import annotations

import pytest

from guerdon.samplers.text import StopWatch, text_of


def decode(ids):
    return bytes(ids).decode("utf-8", errors="replace")


def steps_until_stop(text, strings, given=b""):
    watch = StopWatch(decode, strings, list(given))
    for step, byte in enumerate(text.encode(), 1):
        if watch.push(byte):
            return step
    return None


@pytest.mark.parametrize(
    ("text", "strings", "expected"),
    [
        ("one two three", ("two",), 7),
        ("one two three", ("three", "o t"), 9),
        ("aaab", ("aab",), 4),
        ("x", ("x",), 1),
        ("nothing here", ("ñ", "zz"), None),
        ("naïve é!", ("é!",), 10),
        ("half é", ("half",), 4),
    ],
)
def test_a_stop_string_is_seen_at_its_last_byte(text, strings, expected):
    assert steps_until_stop(text, strings) == expected


def test_what_was_given_does_not_stop_but_may_finish_a_character():
    assert steps_until_stop("bc", ("ab",), given=b"ab") is None
    assert steps_until_stop("b ab", ("ab",), given=b"a") == 4


def test_only_a_few_tokens_are_decoded_at_a_time():
    longest = []
    watch = StopWatch(lambda ids: longest.append(len(ids)) or decode(ids), ("zz",))
    for byte in b"a long text without the string in it" * 5:
        watch.push(byte)
    assert max(longest) <= 2


def test_bytes_that_are_no_text_do_not_hide_a_stop_string():
    watch = StopWatch(decode, ("ok",))
    assert [watch.push(byte) for byte in b"\xff" * 20 + b"ok"] == [False] * 21 + [True]


def test_text_is_cut_before_the_first_stop_string_that_was_sampled():
    assert text_of(decode, b"<a>", b"b<a>c<d>", ("<d>", "<a>")) == "<a>b"
    assert text_of(decode, b"", b"plain", ()) == "plain"
