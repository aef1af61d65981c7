"""Confidence from probabilities: the numbers of the paper's formula, and where an answer stands."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.rewards.intrinsic import answer_span, disparity, span_confidence


def test_confidence_of_the_cards_span():
    sure = [disparity(0.9, 0.05), disparity(0.6, 0.3)]
    assert span_confidence(sure, [0, 1]) == pytest.approx(0.575)
    assert span_confidence([disparity(1.0, 0.0)] * 2, [0, 1]) == 1
    assert span_confidence([disparity(0.2, 0.2)] * 2, [0, 1]) == 0
    assert span_confidence(sure, []) == 0


def test_only_tokens_of_the_span_count():
    assert span_confidence([0.1, 0.8, -0.4], [1]) == span_confidence([0.9, 0.8, 0.7], [1]) == 0.8


@pytest.mark.parametrize(
    ("text", "answer", "ignored", "last", "expected"),
    [
        ([7, 8, 9, 8, 9], [8, 9], (), False, [1, 2]),
        ([7, 8, 9, 8, 9], [8, 9], (), True, [3, 4]),
        ([7, 8, 9], [4, 5], (), False, []),
        ([7, 8, 9], [4, 5], (), True, []),
        ([], [1], (), False, []),
        ([1], [], (), True, []),
        ([5, 0, 6, 5], [5, 6], (0,), False, [0, 2]),
        ([5, 6, 7, 1, 6, 7, 8], [6, 7, 8], (), False, [4, 5, 6]),
    ],
)
def test_where_an_answer_stands(text, answer, ignored, last, expected):
    assert answer_span(text, answer, ignored, last) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=12), st.lists(st.integers(0, 3), max_size=6), st.booleans())
def test_it_is_the_longest_run_of_both(text, answer, last):
    found = answer_span(text, answer, last=last)
    runs = {tuple(answer[i:j]) for i in range(len(answer)) for j in range(i + 1, len(answer) + 1)}
    starts = [
        (n, i) for n in range(len(answer), 0, -1) for i in range(len(text) - n + 1) if tuple(text[i : i + n]) in runs
    ]
    if not starts:
        assert found == []
        return
    longest = max(n for n, _ in starts)
    places = [i for n, i in starts if n == longest]
    assert found == list(range(places[-1 if last else 0], places[-1 if last else 0] + longest))
