"""Where the answer is looked for, in which order."""

import pytest

from guerdon.rewards.verify.math.find import Found, candidates


@pytest.mark.parametrize(
    ("reply", "text", "way"),
    [
        (r"\boxed{1} and then \boxed{2}", "2", "box"),
        (r"\boxed{\frac{1}{\sqrt{2}}}", r"\frac{1}{\sqrt{2}}", "box"),
        (r"So \boxed{4}. Once more: \boxed{5", "4", "box"),
        (r"<answer>7</answer> as \boxed{8}", "8", "box"),
        ("<answer>6</answer><answer> 7 </answer> 8", "7", "tag"),
        ("12\n#### 13\n14", "13", "hashes"),
        ("The answer is 5. Is it? The final answer is: 6.", "6", "phrase"),
        ("**Answer:** 18", "18", "phrase"),
        (r"<think>\boxed{1}</think> \boxed{2}", "2", "box"),
        ("x=5", "x=5", "whole"),
    ],
)
def test_the_first_candidate(reply, text, way):
    assert next(candidates(reply)) == Found(text, way)


def test_what_is_marked_is_the_only_candidate():
    assert len(list(candidates(r"There are 12. \boxed{\text{none}}"))) == 1


@pytest.mark.parametrize(
    ("reply", "last"),
    [
        ("There are 12 eggs and later 18 eggs.", Found("18", "number")),
        ("We get $x = 3$ and so $y = 4$.", Found("y = 4", "dollars")),
        ("pages 5-17", Found("17", "number")),
        ("The answer is 42 because 7 times 6.", Found("42 because 7 times 6", "phrase")),
    ],
)
def test_the_last_candidate(reply, last):
    assert list(candidates(reply))[-1] == last


def test_thoughts_alone_hold_no_answer():
    assert [found.text for found in candidates(r"<think>\boxed{5}</think>")] == [""]
