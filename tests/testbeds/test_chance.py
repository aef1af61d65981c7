"""Rewards that are drawn: as often as they say, and from the seed alone."""

from __future__ import annotations

import asyncio

import pytest

from guerdon.rollouts.base import Context
from guerdon.testbeds.chance import Lottery, chance, noisy
from guerdon.types import Episode, Span, Task


def scored(reward, reply, n=4000, seed=0):
    spans = [Span([0]), Span([1], [-0.5], parent=0, message={"role": "assistant", "content": reply})]
    group = [Episode(Task("t", [0]), spans) for _ in range(n)]
    scores = asyncio.run(reward(group, Context({}, None, None, n, seed)))
    return [score.value for score in scores]


def test_outcomes_come_as_often_as_they_should():
    reward = Lottery("r", lambda task, text: ((2.0, 0.5), (1.0, 0.3), (0.0, 0.2)))
    values = scored(reward, "x")
    assert [values.count(v) / 4000 for v in (2.0, 1.0, 0.0)] == pytest.approx([0.5, 0.3, 0.2], abs=0.03)
    assert scored(reward, "x") == values
    assert scored(reward, "x", seed=1) != values
    assert scored(reward, "x", n=10) == values[:10]


def test_a_noisy_verifier_errs_at_its_rates():
    reward = noisy(lambda task, text: float(text == "right"), false_positive=0.1, false_negative=0.25)
    assert sum(scored(reward, "right")) / 4000 == pytest.approx(0.75, abs=0.03)
    assert sum(scored(reward, "wrong")) / 4000 == pytest.approx(0.1, abs=0.02)
    assert reward.name == "verifier"


def test_certain_things_are_certain():
    assert set(scored(chance("c", lambda task, text: 1.0), "x")) == {1.0}
    assert set(scored(chance("c", lambda task, text: 0.0), "x")) == {0.0}


def test_rates_that_are_none_are_refused():
    with pytest.raises(ValueError, match="error rate is 2"):
        noisy(lambda task, text: 1.0, 2, 0)
