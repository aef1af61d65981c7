import asyncio
import functools
import math
import os
import sys
import time

import numpy as np
import pytest
import torch

from guerdon.rewards.base import PerEpisode, Reward
from guerdon.rewards.fault import RewardFault
from guerdon.rewards.scoring import dry_run
from guerdon.rewards.user import user_reward, wrap_reward
from guerdon.types import Score
from tests.replies import group, scores

REPLIES = ["a", "bb", "ccc"]


def values(function, episodes=None, **options):
    return [score.value for score in scores(wrap_reward(function, **options), episodes or group(REPLIES, answer="bb"))]


def by_columns(completions, answer, prompts, **columns):
    assert prompts == ["q"] * 3
    assert "completions" not in columns
    return [float(c == a) for c, a in zip(completions, answer, strict=True)]


def by_columns_after_prompts(prompts, completions, **columns):
    assert prompts == ["q"] * 3
    assert "completions" not in columns
    return [len(c) for c in completions]


async def by_columns_async(completions, **columns):
    await asyncio.sleep(0)
    return [len(c) for c in completions]


def by_completion(completion, answer, prompt="?"):
    return None if completion == "a" else float(completion == answer) + (prompt == "q")


class Lengths:
    def __call__(self, completions):
        return torch.tensor([float(len(c)) for c in completions])


class AsyncLengths:
    async def __call__(self, episode):
        return len(episode.reply)


def times(factor, completions):
    return [factor * len(c) for c in completions]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (by_columns, [0, 1, 0]),
        (by_columns_after_prompts, [1, 2, 3]),
        (by_columns_async, [1, 2, 3]),
        (by_completion, [None, 2, 1]),
        (Lengths(), [1, 2, 3]),
        (AsyncLengths(), [1, 2, 3]),
        (functools.partial(times, 2), [2, 4, 6]),
        (lambda group: np.array([len(group)] * 3), [3, 3, 3]),
        (lambda episode: Score(0.5, parts={"x": 1.0}), [0.5, 0.5, 0.5]),
        (lambda completions: [None, 0.0, True], [None, 0, 1]),
        (lambda completions, **columns: [len(columns)] * 3, [2, 2, 2]),
        (lambda completion: np.float32(0.25), [0.25] * 3),
    ],
)
def test_every_style_of_function(function, expected):
    assert values(function) == expected


def test_columns_are_every_key_of_the_data_as_lists():
    seen = {}

    def watch(completions, **columns):
        seen.update(columns)
        return [0.0] * len(completions)

    values(watch, group(REPLIES, answer="x", level=2))
    assert seen == {"prompts": ["q"] * 3, "answer": ["x"] * 3, "level": [2, 2, 2]}


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([1.0, 2.0], "2 values.*expected a list of 3 numbers or None"),
        ([1.0] * 4, "4 values"),
        (1.0, "returned 1.0"),
        (None, "returned None"),
        ("abc", "returned 'abc'"),
        ({0: 1.0, 1: 1.0, 2: 1.0}, "returned {"),
        (np.array(1.0), "returned array"),
    ],
)
def test_a_broken_contract_is_a_fault_with_name_and_task(returned, message):
    with pytest.raises(RewardFault, match=rf"reward 'mine' on task 'row/7': (?s:.*){message}"):
        scores(wrap_reward(lambda completions: returned, "mine"), group(REPLIES, task_id="row/7"))


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([1.0, math.nan, 0.0], "value 1 is nan (float)"),
        ([1.0, -math.inf, 0.0], "value 1 is -inf"),
        ([1.0, "0.5", 0.0], "value 1 is '0.5' (str)"),
        ([1.0, [0.5], 0.0], "value 1 is [0.5]"),
        (torch.tensor([1.0, float("nan"), 0.0]), "value 1 is tensor"),
    ],
)
def test_a_value_that_is_no_number_costs_its_own_completion_only(returned, message):
    found = scores(wrap_reward(lambda completions: returned), group(REPLIES))
    assert [score.value for score in found] == [1.0, None, 0.0]
    assert found[1].verdict.status == "failed"
    assert message in found[1].verdict.reason


def broken_on_bb(completions):
    """Raises for one completion, whichever others are asked about with it."""
    if "bb" in completions:
        raise KeyError("gold")
    return [float(len(c)) for c in completions]


def leaves_on_bb(completion):
    return exit(0) if completion == "bb" else float(len(completion))


@pytest.mark.parametrize(
    ("function", "message"), [(broken_on_bb, "it raised KeyError: 'gold'"), (leaves_on_bb, "it raised SystemExit")]
)
def test_what_a_function_raises_costs_the_completion_it_is_about(function, message):
    found = scores(wrap_reward(function), group(REPLIES))
    assert [score.value for score in found] == [1.0, None, 3.0]
    assert found[1].verdict.status == "failed"
    assert message in found[1].verdict.reason


def test_what_a_function_of_the_group_raises_is_a_fault_of_the_group():
    def broken(group):
        raise KeyError("gold")

    with pytest.raises(RewardFault, match="it raised KeyError: 'gold'"):
        values(broken)


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(RewardFault, match=r"asks for \['gold'\].*\['answer', 'prompts'\]"):
        values(lambda completions, gold: [0.0] * 3)


@pytest.mark.parametrize("hang", [lambda completion: time.sleep(30), lambda episode: asyncio.sleep(30)])
def test_a_hang_ends_and_the_loop_stays_awake(hang):
    async def both():
        beats = 0

        async def beat():
            nonlocal beats
            while True:
                await asyncio.sleep(0.01)
                beats += 1

        heart = asyncio.create_task(beat())
        try:
            (score,) = await wrap_reward(hang, timeout=0.3)(group(["a"]), None)
        finally:
            heart.cancel()
        assert (score.value, score.verdict.status) == (None, "timed_out")
        assert score.verdict.reason == "no answer within 0.3 s"
        return beats

    start = time.perf_counter()
    assert asyncio.run(both()) >= 5
    assert time.perf_counter() - start < 3


@pytest.mark.parametrize("slow", [lambda completions: time.sleep(1), by_columns_async])
def test_cancelling_is_never_swallowed(slow):
    async def cancelled():
        task = asyncio.create_task(wrap_reward(slow)(group(REPLIES), None))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())


def test_async_functions_of_one_completion_run_side_by_side():
    async def slow(completion):
        await asyncio.sleep(0.2)
        return 1.0

    start = time.perf_counter()
    assert values(slow, group(["x"] * 20)) == [1.0] * 20
    assert time.perf_counter() - start < 2


def test_a_function_from_a_file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def length(completions, **columns):\n    return [len(c) for c in completions]\n")
    reward = user_reward(f"{file}:length", weight=0.5)
    assert isinstance(reward, Reward)
    assert (reward.name, reward.weight) == ("length", 0.5)
    assert [score.value for score in scores(reward, group(REPLIES))] == [1, 2, 3]


def test_a_file_may_import_the_modules_beside_it(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", sys.path.copy())
    (tmp_path / "beside_the_reward.py").write_text("WORTH = 0.5\n")
    (tmp_path / "mine.py").write_text("from beside_the_reward import WORTH\ndef f(completion): return WORTH\n")
    assert scores(user_reward(f"{tmp_path}/mine.py:f"), group(["x"]))[0].value == 0.5


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (None, "f", "mine.py does not exist"),
        ("def f(:\n", "f", "line 1: invalid syntax"),
        ("import nothing_like_this\n", "f", "cannot be imported: ModuleNotFoundError"),
        ("def lenght(completions): ...\n", "length", "has no function 'length'; did you mean 'lenght'"),
        ("f = 3\n", "f", "3 is no function"),
        ("class f:\n    def __call__(self, completions): ...\n", "f", "the class f is no function"),
        ("def f(texts): ...\n", "f", "its parameters are texts; expected one of completions, completion"),
        ("def f(): ...\n", "f", "it takes no parameter"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, text, name, message):
    file = tmp_path / "mine.py"
    if text is not None:
        file.write_text(text)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        user_reward(f"{file}:{name}")


FILE = """
import os, sys, time, signal
import numpy as np
from guerdon.rewards.calling import in_process
from guerdon.types import Score, Verdict

def careless(completions, answer, **columns):
    if "crash" in completions:
        os.kill(os.getpid(), signal.SIGKILL)
    if "leave" in completions:
        os._exit(0)
    if "hang" in completions:
        while True:
            pass
    if "memory" in completions:
        return [0.0 for c in bytearray(2**36)]
    return [float("nan") if c == "nan" else float(c == a) for c, a in zip(completions, answer)]

def rich(episode):
    return Score(0.5, parts={"a": 1.0}, spans={0: 2.0}, verdict=Verdict("wrong", "because", "x", "here", 0.25))

def arrays(completions):
    return np.arange(len(completions), dtype=np.float32)

def dictionary(completions):
    return {1: 2}

def texts(completions):
    return [0.0, "good", None]

def where(completion):
    return float(os.getpid())

@in_process
def at_home(completion):
    return float(os.getpid())

def with_context(episode, context):
    return float(os.getpid())

def loud(completion):
    print("seen", completion)
    return 1.0
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("rewards") / "mine.py"
    path.write_text(FILE)
    return path


@pytest.mark.parametrize(
    ("bad", "status", "reason"),
    [
        ("crash", "failed", "SIGKILL"),
        ("leave", "failed", "exit status 0"),
        ("hang", "timed_out", "within 3 s"),
        ("memory", "failed", "memory"),
        ("nan", "failed", "value 1 is nan"),
    ],
)
def test_a_file_s_function_takes_down_its_worker_and_one_score(file, bad, status, reason):
    reward = user_reward(f"{file}:careless", timeout=3 if bad == "hang" else 60)
    found = scores(reward, group(["a", bad, "c"], answer="a"))
    assert [score.value for score in found] == [1.0, None, 0.0]
    assert found[1].verdict.status == status
    assert reason in found[1].verdict.reason


def test_scores_arrays_and_none_cross_the_border(file):
    rich = scores(user_reward(f"{file}:rich"), group(["a"]))[0]
    assert (rich.value, rich.parts, rich.spans) == (0.5, {"a": 1.0}, {0: 2.0})
    assert (rich.verdict.status, rich.verdict.stage, rich.verdict.share) == ("wrong", "here", 0.25)
    assert [s.value for s in scores(user_reward(f"{file}:arrays"), group(REPLIES))] == [0.0, 1.0, 2.0]
    odd = scores(user_reward(f"{file}:texts"), group(REPLIES))
    assert [s.value for s in odd] == [0.0, None, None]
    assert "value 1 is 'good' (str)" in odd[1].verdict.reason
    assert odd[2].verdict is None
    with pytest.raises(RewardFault, match=r"it returned \{1: 2\}"):
        scores(user_reward(f"{file}:dictionary"), group(REPLIES))


def test_a_file_s_function_runs_elsewhere_unless_it_must_stay(file):
    here = float(os.getpid())
    assert scores(user_reward(f"{file}:where"), group(["a"]))[0].value != here
    assert scores(user_reward(f"{file}:at_home"), group(["a"]))[0].value == here
    assert scores(user_reward(f"{file}:with_context"), group(["a"]))[0].value == here


def test_what_a_function_prints_is_shown(file, capsys):
    assert scores(user_reward(f"{file}:loud"), group(["a"]))[0].value == 1.0
    assert capsys.readouterr().err == "seen a\n"


def test_a_dry_run_holds_any_reward_to_the_contract():
    assert [s.value for s in asyncio.run(dry_run(PerEpisode("len", lambda e: len(e.reply)), group(REPLIES)))] == [
        1,
        2,
        3,
    ]
    with pytest.raises(RewardFault, match="not finite"):
        asyncio.run(dry_run(PerEpisode("bad", lambda episode: math.nan), group(REPLIES)))
    with pytest.raises(RewardFault, match=r"'broken_on_bb' on task.*KeyError"):
        asyncio.run(dry_run(wrap_reward(broken_on_bb), group(REPLIES)))

    class Short:
        name, weight = "short", 1.0

        async def __call__(self, group, context):
            return [Score(1.0)]

    with pytest.raises(RewardFault, match=r"'short'.*1 scores for 3 episodes"):
        asyncio.run(dry_run(Short(), group(REPLIES)))
