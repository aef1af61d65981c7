"""Rows that teach to judge: what they ask is what judges are asked, and what they answer is what judges are read by."""

from __future__ import annotations

import asyncio

import pytest

from guerdon.judges.base import Reply
from guerdon.judges.lessons import choice_lessons, grade_lesson
from guerdon.judges.read import as_label, read_choice


def read(text: str):
    return Reply(text)


def test_a_choice_is_taught_in_both_orders_and_read_back():
    first, second = choice_lessons("2+2=", "4", "5")
    assert read_choice(read(first["completion"])) == 1.0
    assert read_choice(read(second["completion"])) == 0.0
    assert first["prompt"].index("\n4\n") < first["prompt"].index("\n5\n")
    assert second["prompt"].index("\n5\n") < second["prompt"].index("\n4\n")


def test_a_grade_is_the_label_that_a_judge_weighs():
    row = grade_lesson([{"role": "user", "content": "2+2="}], "4", 9)
    assert as_label(read(row["completion"]), [str(i) for i in range(1, 11)]) == "9"
    assert "2+2=" in row["prompt"]


def test_they_ask_what_the_rewards_ask():
    from guerdon.judges.function import FunctionVoice
    from guerdon.rewards.judged import JudgeScore
    from guerdon.rewards.rehearsal import made_up
    from guerdon.types import Task

    asked = []

    def answers(messages):
        asked.append(messages)
        return "9"

    reward = JudgeScore(FunctionVoice(answers), by_labels=True)
    (score,) = asyncio.run(reward([made_up(Task("t", "2+2="), "4")], None))
    assert score.parts["grade"] == 9.0
    assert asked == [grade_lesson("2+2=", "4", 9)["prompt"]]


def test_what_cannot_be_taught_is_refused():
    with pytest.raises(ValueError, match="from 1 to 10"):
        grade_lesson("q", "r", 11)
    with pytest.raises(ValueError, match="list of ids"):
        choice_lessons([1, 2], "a", "b")
