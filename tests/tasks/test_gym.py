import pytest

from guerdon.tasks import gym
from guerdon.tasks.base import each
from guerdon.tasks.gym import GymScore, gym_names, gym_tasks
from guerdon.tasks.gym_guard import EVALUATES_FORMULA, EVALUATES_LITERAL, EVALUATES_NUMBERS
from tests.replies import episode, scores

FEW = ["chain_sum", "countdown", "spiral_matrix", "word_sorting", "family_relationships"]
NO_SINGLE_ANSWER = {"boxnet", "graph_color", "propositional_logic", "rubiks_cube", "rush_hour"}
"""Data sets whose entries hold no answer of their own: their scorer checks a reply against the problem."""
SLOW_SETS = {"knight_swap", "futoshiki", "sokoban", "zebra_puzzles"}
"""Data sets that need a quarter of a second to a second for one problem."""


def checked(name):
    tasks = gym_tasks(name, heldout=1 if name in SLOW_SETS else 5)
    task = tasks.train.task(0, 1)
    assert isinstance(task.prompt, str)
    assert task.prompt not in {held.prompt for held in each(tasks.heldout)}
    if name not in NO_SINGLE_ANSWER:
        (score,) = scores(tasks.reward, [episode(task, f"I think <answer>{task.data['answer']}</answer>")])
        assert (score.value, score.verdict.status) == (1.0, "right"), score.verdict
    (score,) = scores(tasks.reward, [episode(task, "no idea at all")])
    assert score.verdict.status in ("wrong", "failed")


@pytest.mark.parametrize("name", FEW)
def test_the_right_answer_of_a_set_scores_1(name):
    checked(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", gym_names())
def test_every_set_is_made_and_scored(name):
    checked(name)


def test_all_sets_but_two_are_there():
    from reasoning_gym.factory import DATASETS

    assert set(DATASETS) - set(gym_names()) == {"composite", "game_of_life_halting"}
    assert set(gym_names()) >= EVALUATES_LITERAL | EVALUATES_NUMBERS | EVALUATES_FORMULA


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(EVALUATES_LITERAL | EVALUATES_NUMBERS | EVALUATES_FORMULA))
def test_no_right_answer_is_refused_by_the_guard(name):
    tasks = gym_tasks(name, heldout=1)
    for task in each(tasks.train, 60):
        if "Integral" in task.data["answer"]:
            continue  # sympy could not solve these; the guard refuses what only states the problem again
        assert scores(tasks.reward, [episode(task, task.data["answer"])])[0].value == 1.0, task.data["answer"]


def test_options_reach_the_data_set():
    tasks = gym_tasks("chain_sum", heldout=20, min_terms=2, max_terms=2, max_digits=1)
    assert all(task.data["entry"]["metadata"]["num_terms"] == 2 for task in each(tasks.train, 20))
    assert all(len(task.data["answer"]) <= 2 for task in each(tasks.heldout))


def test_training_never_meets_a_heldout_problem_even_in_a_small_space():
    tasks = gym_tasks("chain_sum", heldout=30, min_terms=2, max_terms=2, min_digits=1, max_digits=1)
    heldout = {task.prompt for task in each(tasks.heldout)}
    train = list(each(tasks.train, 400))
    assert len(heldout) == 30
    assert not heldout & {task.prompt for task in train}
    assert len({task.id for task in train}) == 400


def test_a_set_with_few_problems_holds_out_a_tenth_of_them(monkeypatch):
    def few(name, options, seed):
        return [{"question": f"q{(seed + i) % 40}", "answer": "a"} for i in range(gym.CHUNK)]

    monkeypatch.setattr(gym, "_dataset", few)
    tasks = gym_tasks("chain_sum", heldout=100)
    assert 1 <= tasks.heldout.size <= 10
    assert len({task.prompt for task in each(tasks.train, 500)}) == 40 - tasks.heldout.size


def test_problems_depend_on_seed_and_index_alone():
    one, two = gym_tasks("chain_sum", heldout=3), gym_tasks("chain_sum", heldout=3)
    assert one.train.task(1234, 5) == two.train.task(1234, 5)
    assert one.train.task(0, 5).prompt != one.train.task(0, 6).prompt
    assert list(each(one.heldout)) == list(each(two.heldout))


@pytest.mark.parametrize(
    ("reply", "extract", "answer"),
    [
        ("<answer> 3 </answer> \\boxed{4}", "marked", "3"),
        ("so \\boxed{4}", "marked", "4"),
        (" it is 5 ", "marked", "it is 5"),
        ("it is 1,005.", "last_number", "1005"),
        ("<answer>six</answer> 7", "last_number", "six"),
        ("none", "last_number", ""),
    ],
)
def test_where_the_answer_stands(reply, extract, answer):
    assert GymScore(dataset="chain_sum", extract=extract).answer(reply) == answer


SCORERS = """
import time

def breaks(name, options, answer, entry):
    raise IndexError("deep inside")

def nan(name, options, answer, entry):
    return float("nan")

def hangs(name, options, answer, entry):
    time.sleep(60)
"""


@pytest.mark.parametrize(
    ("scorer", "status", "reason"),
    [
        ("breaks", "failed", "scorer of chain_sum raised IndexError: deep inside"),
        ("nan", "failed", "scorer of chain_sum returned nan"),
        ("hangs", "timed_out", "scorer of chain_sum: no answer within 0.2 s"),
    ],
)
def test_a_scorer_that_fails_is_a_verdict_without_a_value(monkeypatch, tmp_path, scorer, status, reason):
    (tmp_path / "scorers.py").write_text(SCORERS)
    monkeypatch.setattr(gym, "OFFICIAL", f"{tmp_path}/scorers.py:{scorer}")
    monkeypatch.setattr(gym, "SCORING_SECONDS", 0.2)
    task = gym_tasks("chain_sum", heldout=1).train.task(0)
    (score,) = scores(GymScore(dataset="chain_sum"), [episode(task, "3")])
    assert (score.value, score.verdict.status) == (None, status)
    assert score.verdict.reason.startswith(reason)


def test_an_attack_is_wrong_and_not_run(tmp_path):
    canary = tmp_path / "canary"
    task = gym_tasks("spiral_matrix", heldout=1).train.task(0)
    (score,) = scores(GymScore(dataset="spiral_matrix"), [episode(task, f"open({str(canary)!r}, 'w')")])
    assert (score.value, score.verdict.status) == (0.0, "wrong")
    assert not canary.exists()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("chain_sun", {}, "no data set 'chain_sun'; did you mean 'chain_sum'"),
        ("composite", {}, "mixes other data sets"),
        ("chain_sum", {"min_term": 2}, "no option 'min_term'; did you mean 'min_terms'"),
        ("chain_sum", {"min_terms": 0}, "refuses min_terms=0: min_terms must be positive"),
        ("chain_sum", {"min_terms": "two"}, "refuses min_terms='two'"),
        ("chain_sum", {"seed": 1}, "no option 'seed'"),
        ("chain_sum", {"heldout": 0}, "at least 1"),
        ("chain_sum", {"extract": "box"}, "expected one of marked, last_number"),
    ],
)
def test_what_does_not_exist_is_refused(name, options, message):
    with pytest.raises(ValueError, match=message):
        gym_tasks(name, **options)
