"""Numbers of a row as streams of its episodes."""

from __future__ import annotations

import numpy as np
import pytest

from guerdon.advantages.segments import paths
from guerdon.collate import collate
from guerdon.data.columns import column, columns_of, with_columns
from guerdon.marks import marked
from guerdon.types import Episode, Span, Task


def group(n: int = 2):
    return [Episode(Task("t", ""), [Span(np.array([1])), Span(np.array([5, 6]), np.zeros(2), parent=0)])] * n


def test_a_number_is_for_all_and_a_list_for_each():
    batch = collate([with_columns(group(), {"p": 0.25, "length": [3, 9], "other": "text"}, ["p", "length"])])
    assert marked(paths(batch), batch, column("p")).tolist() == [0.25, 0.25]
    assert marked(paths(batch), batch, column("length")).tolist() == [3, 9]
    assert batch.extra[column("p")][~batch.mask].abs().sum() == 0


@pytest.mark.parametrize("value", ["high", None, float("nan"), [1.0], [1.0, None]])
def test_what_is_no_number_is_named(value):
    with pytest.raises(ValueError, match=r"'p' is .*expected a finite number"):
        with_columns(group(), {"p": value}, ["p"])


def test_what_is_not_there_is_named_with_what_is():
    with pytest.raises(ValueError, match=r"no column 'p'; found \['q'\]"):
        with_columns(group(), {"q": 1}, ["p"])


def test_columns_are_told_from_other_streams():
    assert columns_of(["ref", column("b"), column("a"), column("a")]) == ["a", "b"]
