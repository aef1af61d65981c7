"""Refusals and stated confidence, as replies word them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.evaluation.protocol.stance import Reading


@pytest.mark.parametrize(
    ("reply", "refused"),
    [
        ("I don't know.", True),
        ("I don\u2019t know", True),
        ("Sorry, it CANNOT be  determined from this.", True),
        ("?", True),
        (" ? ", True),
        ("IDK!", True),
        ("The answer is \\boxed{unknown}", True),
        ("<answer>I do not know</answer>", True),
        ("I don't know for sure, but \\boxed{7}", False),
        ("<think>I don't know ...</think> 7", False),
        ("Is it 7?", False),
        ("The unknown is 7", False),
        ("7", False),
        ("", False),
        (".", False),
    ],
)
def test_refusals(reply: str, refused: bool):
    assert Reading().stance(reply).refused is refused


@pytest.mark.parametrize(
    ("reply", "confidence"),
    [
        ("7. Confidence: 0.8", 0.8),
        ("7\n**Confidence:** 80%", 0.8),
        ("confidence is 8/10", 0.8),
        ("Confidence = 80", 0.8),
        ("confidence 1", 1.0),
        ("<confidence>.25</confidence>", 0.25),
        ("Confidence: 0.2, no, confidence: 0.6", 0.6),
        ("confidence: 0.6; I have little confidence.", 0.6),
        ("confidence: high", None),
        ("confidence: 120%", None),
        ("confidence: 11/10", None),
        ("confidence 3/0", None),
        ("0.8", None),
        ("<think>confidence: 0.9</think> 7", None),
    ],
)
def test_confidence(reply: str, confidence: float | None):
    assert Reading().stance(reply).confidence == confidence


def test_a_tiny_policy_says_it_in_one_digit():
    reading = Reading(whole=("_",), confidence="~", scale=9)
    assert reading.stance("12~9").confidence == 1.0
    assert reading.stance("12~3").confidence == pytest.approx(1 / 3)
    assert reading.stance("_").refused
    assert not reading.stance("?").refused


@pytest.mark.parametrize(("changes", "message"), [({"scale": 0.0}, "scale"), ({"confidence": " "}, "confidence")])
def test_readings_that_make_no_sense(changes: dict, message: str):
    with pytest.raises(ValueError, match=message):
        Reading(**changes)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="confidence: is0123456789./%\n\\boxed{}?", max_size=60))
def test_any_reply_has_a_stance(reply: str):
    found = Reading().stance(reply)
    assert found.confidence is None or 0 <= found.confidence <= 1
