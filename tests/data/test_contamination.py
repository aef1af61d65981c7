"""Overlap by n-grams: the worked examples of the paper's method, and what it must not depend on."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.data.contamination import Hit, decontaminate, overlap, words

ASKED = "t1 t2 t3 t4 t5 t6 t7 t8 t9 t10 t11 t12"


def test_nine_of_twelve_tokens_in_a_row_are_three_quarters():
    found = overlap(["x t1 t2 t3 t4 t5 t6 t7 t8 t9 y"], [ASKED])
    assert found.scores == (0.75,)
    assert found.hits == (Hit(0, 0, 0.75),)
    assert (found.mean, found.share, found.matched) == (0.75, 1.0, (0,))


def test_two_spans_of_seven_tokens_hold_no_n_gram():
    asked = " ".join(f"t{i}" for i in range(1, 16))
    train = " ".join([*(f"t{i}" for i in range(1, 8)), "x", *(f"t{i}" for i in range(9, 16))])
    assert overlap([train], [asked]).scores == (0.0,)


def test_two_training_prompts_do_not_add_up():
    asked = " ".join(f"t{i}" for i in range(24))
    first, second = (" ".join(f"t{i}" for i in part) for part in (range(10), range(12, 22)))
    found = overlap([first, second], [asked])
    assert found.scores == (10 / 24,)
    assert found.hits == ()
    assert overlap([f"{first} x {second}"], [asked]).scores == (20 / 24,)


def test_exactly_half_is_no_match():
    asked = " ".join(f"t{i}" for i in range(16))
    train = " ".join(f"t{i}" for i in range(8))
    assert overlap([train], [asked]).scores == (0.5,)
    assert overlap([train], [asked]).hits == ()
    assert len(overlap([train], [asked], threshold=0.49).hits) == 1


def test_overlapping_n_grams_count_each_token_once():
    assert overlap([ASKED], [ASKED], n=2).scores == (1.0,)
    assert overlap(["a a a a a a"], ["a a a b"], n=2).scores == (0.75,)


def test_a_short_prompt_matches_the_same_text_only():
    train = ["What is 1+2 = ?", "what  is 1-2 = ?", "Say: what is 1+2 = ? Go on"]
    found = overlap(train, ["what is 1+2 = ?"])
    assert found.hits == (Hit(0, 0, 1.0),)
    assert overlap(["", " "], ["", "?"]).hits == ()


def test_what_is_kept_and_what_goes():
    train = ["something else", f"please: {ASKED}", "t1 t2 t3 t4 t5 t6 t7 t8 t9", "one more"]
    kept, removed = decontaminate(train, ["other words here", ASKED])
    assert kept == [0, 3]
    assert [(hit.train, hit.evaluation, hit.share) for hit in removed] == [(1, 1, 1.0), (2, 1, 0.75)]
    assert overlap([train[i] for i in kept], ["other words here", ASKED]).hits == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Don't  STOP, 3.5!", ["don", "t", "stop", "3", "5"]),
        ("日本の首都", list("日本の首都")),
        ("naïve Ωmega_1", ["naïve", "ωmega_1"]),
        ("東京 is big", ["東", "京", "is", "big"]),
        ("?!", []),
    ],
)
def test_words(text: str, found: list[str]):
    assert words(text) == found


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(alphabet="ab ", max_size=24), max_size=6),
    st.lists(st.text(alphabet="ab ", max_size=24), max_size=4),
)
def test_the_score_is_that_of_the_definition(train: list[str], asked: list[str]):
    """Counted the long way round: every token of every prompt, every training prompt by itself."""
    n = 3

    def share(tokens: list[str], other: list[str]) -> float:
        grams = [other[i : i + n] for i in range(len(other) - n + 1)]
        held = [
            any(s + n <= len(tokens) and tokens[s : s + n] in grams for s in range(max(0, i - n + 1), i + 1))
            for i in range(len(tokens))
        ]
        return sum(held) / len(tokens)

    found = overlap(train, asked, n=n, tokenize=str.split)
    for text, score in zip(asked, found.scores, strict=True):
        tokens = text.split()
        if len(tokens) >= n:
            assert score == max((share(tokens, other.split()) for other in train), default=0.0)
    kept, removed = decontaminate(train, asked, n=n, tokenize=str.split)
    assert sorted([*kept, *(hit.train for hit in removed)]) == list(range(len(train)))


@pytest.mark.parametrize("settings", [{"n": 0}, {"threshold": 1.0}, {"threshold": -0.1}])
def test_settings_out_of_range_are_refused(settings: dict[str, float]):
    with pytest.raises(ValueError, match="expected n of 1 or more"):
        overlap(["a"], ["b"], **settings)  # type: ignore[arg-type]


def test_nothing_to_measure_is_no_overlap():
    assert overlap([], []).mean == overlap(["a"], []).share == 0.0
