"""Rewards are tried out before a run: on made-up replies, and on the answers they are to grade."""

import pytest

from guerdon.rewards.base import PerEpisode
from guerdon.rewards.fault import RewardFault
from guerdon.rewards.load import load_reward
from guerdon.rewards.rehearsal import Ungradable, rehearse
from guerdon.tasks.base import Listed, TaskSet
from guerdon.types import Task


def task_set(*answers):
    tasks = [Task(f"row/{i}", "q", {"answer": answer}) for i, answer in enumerate(answers)]
    return TaskSet("mine", Listed(tasks), Listed(tasks[:0]), load_reward("math"))


def test_the_answer_and_nothing_are_tried():
    seen = []
    rehearse([PerEpisode("see", lambda episode: seen.append(episode.reply) or 0.0)], task_set("42", "43"))
    assert seen == ["42", ""]


def test_a_reward_that_fails_on_an_empty_reply_is_found_out_before_it_costs_anything():
    with pytest.raises(RewardFault, match=r"reward 'first' on task 'row/0'.*IndexError"):
        rehearse([PerEpisode("first", lambda episode: float(ord(episode.reply[0])))], task_set("42"))


def test_what_needs_a_run_is_not_asked():
    class Asks:
        name, weight, needs_context = "asks", 1.0, True

        async def __call__(self, group, context):
            raise AssertionError("asked")

    rehearse([Asks()], task_set("42"))
    rehearse([Asks()], None)


def test_answers_that_no_reply_could_equal_are_counted_and_named():
    with pytest.warns(
        UserWarning, match=r"1 of 3 answers cannot be graded by the reward 'math'.*row/1: .*cannot be read"
    ):
        rehearse([load_reward("math")], task_set("42", r"\frac{1}{", "[2,3)"))


def test_a_set_without_a_gradable_answer_is_refused():
    with pytest.raises(Ungradable, match=r"2 of 2 answers.*guerdon data check"):
        rehearse([load_reward("math")], task_set(r"\frac{1}{", ""))
