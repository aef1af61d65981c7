"""Rows of a file before anybody asks what they mean: parts of a file, and what a bad row says."""

from __future__ import annotations

import pickle

import pytest

from guerdon.tasks.files import BadRow, Numbered, sliced

ROWS = [Numbered(i, {"n": i}) for i in range(1, 11)]


@pytest.mark.parametrize(
    ("part", "numbers"),
    [
        (None, list(range(1, 11))),
        (":", list(range(1, 11))),
        ("-3:", [8, 9, 10]),
        (":2", [1, 2]),
        ("2:4", [3, 4]),
        (" -4:-2 ", [7, 8]),
        ("-100:", list(range(1, 11))),
        ("5:100", [6, 7, 8, 9, 10]),
    ],
)
def test_a_part_of_the_rows_keeps_their_numbers(part: str | None, numbers: list[int]):
    assert [one.number for one in sliced(ROWS, part, "x")] == numbers


@pytest.mark.parametrize("part", ["10", 10, "a:b", "1:2:3", "", "1.5:"])
def test_what_is_no_part_is_refused(part: object):
    with pytest.raises(ValueError, match="expected first:last"):
        sliced(ROWS, part, "x")  # type: ignore[arg-type]


@pytest.mark.parametrize("part", ["10:", "5:2", ":-10"])
def test_a_part_without_rows_is_refused(part: str):
    with pytest.raises(ValueError, match=f"x: rows {part} leaves none of its 10 rows"):
        sliced(ROWS, part, "x")


def test_a_bad_row_says_what_it_knows_and_survives_a_process():
    full, short = BadRow("f", 3, "nothing", "a prompt"), BadRow("f", 3, "nothing")
    assert (str(full), str(short)) == ("f, row 3: nothing; expected a prompt", "f, row 3: nothing")
    again = pickle.loads(pickle.dumps(full))
    assert (str(again), again.row, again.found) == (str(full), 3, "nothing")
