"""Sums with several right answers."""

from __future__ import annotations

import pytest

from guerdon.tasks.base import each
from guerdon.tasks.builtin import arithmetic
from guerdon.tasks.near import near
from guerdon.tasks.spec import list_tasks, load_tasks
from tests.replies import episode, scores


def test_answers_are_the_numbers_around_the_sum_the_sum_first():
    for task, exact in zip(each(near(2).train, 50), each(arithmetic().train, 50), strict=True):
        total = int(exact.data["answer"])
        assert task.prompt == exact.prompt
        assert task.data["answer"][0] == str(total)
        assert sorted(map(int, task.data["answer"])) == list(range(total - 2, total + 3))
        assert task.id != exact.id


def test_all_of_them_are_right_and_no_other_is():
    tasks = near(3)
    task = tasks.train.task(4, 0)
    total = int(task.data["answer"][0])
    found = scores(tasks.reward, [episode(task, str(total + n)) for n in range(-5, 6)])
    assert [score.value for score in found] == [0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 0]
    assert len({score.verdict.extracted for score in found if score.value}) == 7


def test_held_out_problems_are_those_of_arithmetic():
    assert [t.prompt for t in each(near(1, level=2).heldout)] == [t.prompt for t in each(arithmetic(2).heldout)]


def test_it_is_known_by_name():
    assert load_tasks("near?within=1").train.task(0, 0).data["level"] == 1
    assert "near" in list_tasks()
    assert "near?within=1" not in list_tasks()
    for spec in ("near?within=0", "near?within=some", "near?level=9", "near?width=2"):
        with pytest.raises(ValueError, match=r"within is|level|width"):
            load_tasks(spec)
