import ast
import operator
import re

import pytest

from guerdon.tasks.base import each, held_out
from guerdon.tasks.builtin import STRINGS, arithmetic, strings
from tests.replies import episode, scores

ALPHABET = re.compile(r"[a-z0-9 +\-*/=.,:?!<>()\n]*")
SETS = [*(arithmetic(level) for level in (1, 2, 3, 4)), *(strings(name, 5) for name in STRINGS)]
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def value(node: ast.expr) -> int:
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](value(node.left), value(node.right))
    return node.value


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_sums_are_right(level):
    for task in [*each(arithmetic(level).train, 200), *each(arithmetic(level).heldout, 50)]:
        assert value(ast.parse(task.prompt.removesuffix("="), mode="eval").body) == int(task.data["answer"])
        assert task.data["level"] == level


@pytest.mark.parametrize(
    ("name", "answer"), [("copy", "bca"), ("reverse", "acb"), ("sort", "abc"), ("double", "bbccaa")]
)
def test_words_are_reworked(name, answer):
    assert STRINGS[name]("bca") == answer
    task = strings(name, 4).train.task(0, 0)
    assert STRINGS[name](task.prompt.removeprefix(f"{name} ").removesuffix("=")) == task.data["answer"]
    assert task.data["level"] == 4


@pytest.mark.parametrize("tasks", SETS, ids=lambda tasks: tasks.describe)
def test_no_heldout_problem_is_trained_on(tasks):
    train = {task.prompt for task in each(tasks.train, 2000)}
    heldout = {task.prompt for task in each(tasks.heldout)}
    assert not train & heldout
    assert all(map(held_out, heldout))
    assert len(heldout) == tasks.heldout.size == 200


@pytest.mark.parametrize("tasks", SETS, ids=lambda tasks: tasks.describe)
def test_texts_are_short_and_of_few_characters(tasks):
    for task in each(tasks.train, 200):
        assert ALPHABET.fullmatch(task.prompt + task.data["answer"])
        assert len(task.prompt) <= 20


@pytest.mark.parametrize("tasks", SETS, ids=lambda tasks: tasks.describe)
def test_the_sets_own_scorer_takes_the_answer_and_nothing_else(tasks):
    task = tasks.train.task(7, 1)
    found = scores(tasks.reward, [episode(task, reply) for reply in (task.data["answer"], "zzz 123456", "")])
    assert [score.value for score in found] == [1.0, 0.0, 0.0]
    assert [score.verdict.status for score in found] == ["right", "wrong", "no_answer"]


def test_the_seed_changes_training_and_never_the_held_out():
    tasks = arithmetic()
    assert [tasks.train.task(i, 0) for i in range(9)] != [tasks.train.task(i, 1) for i in range(9)]
    assert [tasks.train.task(i, 4) for i in range(9)] == [arithmetic().train.task(i, 4) for i in range(9)]
    assert tasks.heldout.task(3, 0) == tasks.heldout.task(3, 1) == arithmetic().heldout.task(3)


def test_problems_are_the_same_on_every_machine():
    assert [arithmetic().train.task(i).prompt for i in range(2)] == ["25+89=", "1+46="]
    assert arithmetic().heldout.task(0).prompt == "84+3="


def test_the_smallest_set_has_held_out_problems():
    assert all(strings(name, 2).heldout.size >= 20 for name in STRINGS)


def test_lengths_vary_from_the_shortest_on():
    assert {task.data["level"] for task in each(strings("copy", 4, min_length=2).train, 100)} == {2, 3, 4}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: arithmetic(9), r"no level 9; expected one of \[1, 2, 3, 4\]"),
        (lambda: strings("copy", 1), "expected 2 <= min_length"),
        (lambda: strings("twist"), "no string task 'twist'"),
    ],
)
def test_what_does_not_exist_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
