"""Rows that are too long: refused by name, cut at the end, or dropped, and counted."""

import numpy as np
import pytest

from guerdon.data.length import shortened
from guerdon.types import Episode, Pair, Span, Task


def row(name, prompt, reply, first=5):
    ids = np.arange(first, first + reply)
    return Episode(Task(name, "q"), [Span(np.ones(prompt)), Span(ids, np.zeros(reply), parent=0)])


def lengths(groups):
    return [[sum(len(span.tokens) for span in episode.spans) for episode in group] for group in groups]


def test_rows_within_the_limit_are_left_alone():
    groups = [[row("a", 2, 3)], [row("b", 1, 1)]]
    assert shortened(groups, 5, "error", "f.jsonl") == groups


def test_a_long_row_is_refused_by_its_name_unless_told_otherwise():
    with pytest.raises(ValueError, match=r"f\.jsonl: b has 6 tokens; expected at most 5.*on_long"):
        shortened([[row("a", 2, 3)], [row("b", 2, 4)]], 5, "error", "f.jsonl")


def test_dropped_rows_are_counted():
    with pytest.warns(UserWarning, match="of 3 rows 0 were cut to 5 tokens, 1 dropped"):
        kept = shortened([[row("a", 2, 3)], [row("b", 2, 4)], [row("c", 1, 1)]], 5, "drop", "f.jsonl")
    assert [group[0].task.id for group in kept] == ["a", "c"]


def test_a_cut_row_keeps_its_beginning_and_says_that_it_was_cut():
    with pytest.warns(UserWarning, match="of 2 rows 1 were cut to 5 tokens, 1 dropped"):
        kept = shortened([[row("a", 2, 9)], [row("b", 5, 2)]], 5, "cut", "f.jsonl")
    ((episode,),) = kept
    assert episode.spans[1].tokens.tolist() == [5, 6, 7]
    assert len(episode.spans[1].logprobs) == 3
    assert episode.stop == "length"


def test_a_pair_is_cut_on_both_sides_and_dropped_where_its_difference_was_cut():
    alike = Pair(row("a", 2, 6), row("a", 2, 7)).group()
    differ = Pair(row("b", 2, 6), row("b", 2, 2, first=30)).group()
    with pytest.warns(UserWarning, match="1 were cut to 5 tokens, 1 dropped"):
        kept = shortened([alike, differ], 5, "cut", "f.jsonl")
    assert lengths(kept) == [[5, 4]]
    assert kept[0][0].scores["preference"].total() > kept[0][1].scores["preference"].total()


def test_nothing_left_is_an_error():
    with pytest.raises(ValueError, match="every row has more than 3 tokens"):
        shortened([[row("a", 3, 1)]], 3, "drop", "f.jsonl")
