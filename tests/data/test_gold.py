"""Answers that no right reply could match are found, without calling right ones unfit."""

from __future__ import annotations

import asyncio

import pytest

from guerdon.data.gold import Unfit, fails_math, fails_reward, judged, mathematical
from guerdon.data.row import Row
from guerdon.rewards.base import PerEpisode
from guerdon.rewards.verify.number import NumericMatch
from guerdon.rewards.verify.text import ExactMatch


def rows(*answers: object) -> list[Row]:
    return [Row(i, prompt="q", answer=answer) for i, answer in enumerate(answers, 1)]


@pytest.mark.parametrize(
    ("answers", "math"),
    [
        (["7", "-3.5", "1,234"], True),
        ([7, 2.5], True),
        (["so 3 + 4\n#### 7"], True),
        ([r"\boxed{2}", "$x^2$", "yes"], True),
        (["50%", "3/4"], True),
        (["yes", "no", "7"], False),
        (["Paris"], False),
        ([True, False], False),
        ([["7", "seven"]], False),
        ([["7", "7.0"]], True),
        ([], False),
    ],
)
def test_answers_that_look_like_mathematics(answers: list[object], math: bool):
    assert mathematical(rows(*answers)) is math


def test_mathematical_answers_that_cannot_be_read_are_named_by_row():
    failed = fails_math(rows("7", r"\frac{1}{", "so\n#### 12", ["3", r"\frac{"], "7", r"\frac{1}{"))
    assert [one.row for one in failed] == [2, 4, 6]
    assert all("cannot be read" in one.reason for one in failed)


def test_answers_that_a_reward_refuses_are_named_by_row():
    given = rows("7", "seven", 8)
    assert fails_reward(given, ExactMatch()) == []
    assert [one.row for one in fails_reward(given, NumericMatch())] == [2]


def test_rewards_without_verdicts_have_to_give_more_than_nothing():
    reward = PerEpisode("length", lambda episode: float(len(episode.reply)) - 1)
    assert fails_reward(rows("yes", "n"), reward) == [Unfit(2, "its value is 0.0")]
    abstains = PerEpisode("none", lambda episode: None)
    assert fails_reward(rows("yes"), abstains) == [Unfit(1, "its value is None")]


def test_a_reward_that_breaks_is_the_reason():
    def broken(episode: object) -> float:
        raise KeyError("rubric")

    (failed,) = fails_reward(rows("yes"), PerEpisode("mine", broken))
    assert "rubric" in failed.reason


@pytest.mark.parametrize(("reply", "right"), [("it is 7", True), ("it is 8", False), ("", False)])
def test_a_reply_is_judged_as_in_training(reply: str, right: bool):
    assert asyncio.run(judged(rows("7")[0], reply, NumericMatch())) is right
