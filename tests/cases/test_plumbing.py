"""Cases of reward plumbing (B) and of data and state (F): who abstains, what zero means, whose score it is, what is
left after a stop."""

import asyncio
import itertools
import json
import math
import os
import pickle

import numpy as np
import pytest
import torch

from guerdon import checkpoint
from guerdon.advantages.group import GroupMean, GroupNorm, LeaveOneOut
from guerdon.collate import collate
from guerdon.filters import Band
from guerdon.rewards.base import PerEpisode
from guerdon.rewards.combine import weighted_sum
from guerdon.rewards.fault import RewardFault
from guerdon.rewards.scoring import score_group, scored
from guerdon.rewards.user import wrap_reward
from guerdon.rewards.verify.number import NumericMatch
from guerdon.run import RunFolder
from guerdon.sources import Dataset
from guerdon.store import read_episodes, write_episodes
from guerdon.tasks.base import Shuffled
from guerdon.tasks.builtin import arithmetic
from guerdon.types import Score
from tests.replies import group, scores

REPLIES = ["a", "b", "c", "d"]


def tells(name, told, weight=1.0):
    """A user's function over completions that returns these values, whatever it is asked."""

    def function(completions):
        return told

    return wrap_reward(function, name, weight=weight)


def advantages(estimator, episodes, rewards):
    batch = estimator(collate([episodes], {reward.name: reward.weight for reward in rewards}))
    return batch.advantage[batch.mask].tolist()


# --- C15: None for some or all functions ------------------------------------------------------------------------------


def told(f, g, weights=(1.0, 1.0)):
    """The group of four after scoring, what of it is scored, and the rewards."""
    episodes, rewards = group(REPLIES), [tells("f", f, weights[0]), tells("g", g, weights[1])]
    assert asyncio.run(score_group(episodes, rewards, None)) == []
    return episodes, scored(episodes, rewards), rewards


@pytest.mark.parametrize(
    ("estimator", "scale"), [(GroupMean(), 1.0), (LeaveOneOut(), 1.5), (GroupNorm(eps=0.0), 1.0)], ids=repr
)
def test_c15_an_unscored_row_leaves_the_statistics_of_its_group(estimator, scale):
    _, kept, rewards = told([1, None, 0, None], [None, 2, None, None])
    assert [episode.reply for episode in kept] == ["a", "b", "c"]
    assert advantages(estimator, kept, rewards) == pytest.approx([0.0, scale, -scale])


@pytest.mark.parametrize(
    ("f", "g", "weights", "kept", "returns"),
    [
        ([None] * 4, [None, 0, None, 0.0], (1, 1), "bd", [0, 0]),
        ([1, 1, None, None], [None, 1, 1, None], (2, -0.5), "abc", [2, 1.5, -0.5]),
        ([1, None, None, None], [5, 5, 5, 5], (1, 0), "a", [1]),
        ([None] * 4, [None] * 4, (1, 1), "", []),
        ([0, 0, 0, 0], [None] * 4, (1, 1), "abcd", [0, 0, 0, 0]),
    ],
)
def test_c15_whoever_abstains_the_rest_is_summed_by_weight(f, g, weights, kept, returns):
    _, found, rewards = told(f, g, weights)
    assert "".join(episode.reply for episode in found) == kept
    if found:
        batch = collate([found], {reward.name: reward.weight for reward in rewards})
        assert batch.reward[batch.mask].tolist() == returns


def test_c15_as_one_reward_and_as_a_setting_that_forbids_it():
    f, g = tells("f", [1, None, 0, None]), tells("g", [None, 2, None, None])
    assert [score.value for score in scores(weighted_sum(f, g), group(REPLIES))] == [1.0, 2.0, 0.0, None]
    with pytest.raises(RewardFault, match=r"'sum' on task 't': its part '[fg]' does not apply"):
        scores(weighted_sum(f, g, missing="error"), group(REPLIES))


@pytest.mark.parametrize("bad", [math.nan, np.float32("nan"), torch.tensor(math.inf)])
def test_c15_a_number_that_is_none_is_a_fault_of_its_row_and_poisons_no_other(bad):
    episodes = group(REPLIES)
    rewards = [tells("f", [1.0, bad, 0.0, 0.5])]
    assert len(asyncio.run(score_group(episodes, rewards, None))) == 1
    kept = scored(episodes, rewards)
    assert [episode.reply for episode in kept] == ["a", "c", "d"]
    assert advantages(GroupMean(), kept, rewards) == pytest.approx([0.5, -0.5, 0.0])


# --- C17: a score of 0.0 is a score -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("served", "value"),
    [
        ({"scores": 0.0, "rewards": 1.0}, 0.0),
        ({"rewards": 1.0}, 1.0),
        ({"scores": None, "rewards": 1.0}, 1.0),
        ({"scores": -0.0, "rewards": 1.0}, 0.0),
    ],
)
def test_c17_what_was_scored_already_is_not_scored_again_when_it_is_zero(served, value):
    """A rollout that brings the server's score along; the reward of that name fills in where there is none."""
    episodes = group(["x"])
    if served.get("scores") is not None:
        episodes[0].scores["r"] = Score(served["scores"])
    asyncio.run(score_group(episodes, [PerEpisode("r", lambda episode: served["rewards"])], None))
    assert episodes[0].scores["r"].value == value


@pytest.mark.parametrize("zero", [0, 0.0, -0.0, False, np.float32(0), np.int64(0), torch.tensor(0.0)], ids=repr)
def test_c17_zero_of_any_kind_is_kept_counted_and_filtered_by(zero):
    episodes, rewards = group(REPLIES), [tells("r", [zero] * 4)]
    assert asyncio.run(score_group(episodes, rewards, None)) == []
    assert [episode.scores["r"].value for episode in episodes] == [0.0] * 4
    assert len(scored(episodes, rewards)) == 4
    assert Band(0.0, 0.4)(episodes) is episodes
    assert Band(0.1, 1.0)(episodes) is None


def test_c17_zero_and_absence_are_told_apart_on_disk(tmp_path):
    episodes = group(["x", "y", "z"])
    for episode, score in zip(episodes, [Score(0.0), Score(None), Score(None, spans={1: 0.0})], strict=True):
        episode.scores["r"] = score
    write_episodes(tmp_path / "e.parquet", 1, [episodes])
    found = [episode.scores["r"] for episode in read_episodes(tmp_path / "e.parquet")[0]]
    assert [(score.value, score.applies) for score in found] == [(0.0, True), (None, False), (None, True)]


# --- C21: exactly one score per sample --------------------------------------------------------------------------------


def test_c21_a_sample_that_cannot_be_parsed_has_one_score_of_its_own():
    found = scores(NumericMatch(), group(["the answer is 7", "I give up", "#### 7"], answer=7))
    assert [score.value for score in found] == [1.0, 0.0, 1.0]
    assert [score.verdict.extracted for score in found] == ["7", None, "7"]
    assert found[1].verdict.status == "no_answer"


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_c21_every_sample_keeps_its_score_wherever_it_stands(order):
    replies, values = ["7", "", "8", "7 or (1/0)"], [1.0, 0.0, 0.0, 0.0]
    found = scores(NumericMatch(), group([replies[i] for i in order], answer=7))
    assert [score.value for score in found] == [values[i] for i in order]


@pytest.mark.parametrize("broken", [0, 1, 2])
def test_c21_a_function_that_raises_on_one_sample_moves_no_others_score(broken):
    def function(completion):
        if completion == REPLIES[broken]:
            raise IndexError("no match")
        return float(ord(completion))

    episodes = group(REPLIES[:3])
    asyncio.run(score_group(episodes, [wrap_reward(function, "r")], None))
    expected = [None if i == broken else float(ord(reply)) for i, reply in enumerate(REPLIES[:3])]
    assert [episode.scores["r"].value for episode in episodes] == expected


@pytest.mark.parametrize("number", [0, 2, 4])
@pytest.mark.parametrize("make", [lambda r: r, lambda r: weighted_sum(r, name="r")], ids=["alone", "combined"])
def test_c21_too_many_or_too_few_scores_are_a_fault_and_never_dealt_out(number, make):
    episodes = group(REPLIES[:3])
    (fault,) = asyncio.run(score_group(episodes, [make(tells("r", [1.0] * number))], None))
    assert f"{number} values" in fault.what
    assert [episode.scores["r"].value for episode in episodes] == [None] * 3


# --- C53: resume in mid-epoch and exactly at an epoch's end -----------------------------------------------------------


async def _rows(source, steps):
    return [[g[0].task.id for g in (await source.take(0)).groups] for _ in range(steps)]


def rows(source, steps):
    return asyncio.run(_rows(source, steps))


def ten():
    return [group([str(i)], f"row{i}") for i in range(10)]


@pytest.mark.parametrize("stop", range(11))
def test_c53_the_joined_order_is_that_of_a_run_that_never_stopped(stop):
    """Ten rows, batches of 2, 2 epochs: an epoch ends at step 5, the run at step 10."""
    straight = rows(Dataset(ten(), batch=2), 10)
    for epoch in (straight[:5], straight[5:]):
        assert sorted(row for step in epoch for row in step) == [f"row{i}" for i in range(10)]
    assert straight[:5] != straight[5:]
    first, second = Dataset(ten(), batch=2), Dataset(ten(), batch=2)
    begin = rows(first, stop)
    second.restore(pickle.loads(pickle.dumps(asyncio.run(first.state()))))
    assert begin + rows(second, 10 - stop) == straight


@pytest.mark.parametrize("batch", [1, 3, 10, 16])
@pytest.mark.parametrize("stop", [1, 2, 5])
def test_c53_nor_does_it_matter_whether_batches_fit_into_an_epoch(batch, stop):
    straight = rows(Dataset(ten(), batch=batch, seed=3), 8)
    first, second = Dataset(ten(), batch=batch, seed=3), Dataset(ten(), batch=batch, seed=3)
    begin = rows(first, stop)
    second.restore(pickle.loads(pickle.dumps(asyncio.run(first.state()))))
    assert begin + rows(second, 8 - stop) == straight
    drawn = [row for step in straight for row in step]
    for epoch in range(len(drawn) // 10):
        assert len(set(drawn[10 * epoch : 10 * epoch + 10])) == 10


def test_c53_tasks_are_drawn_by_number_so_that_a_position_is_all_there_is_to_keep():
    tasks = arithmetic(1)
    one, other = Shuffled(tasks.train, 5), Shuffled(tasks.train, 5)
    assert [one.draw(i).id for i in range(20)] == [other.draw(i).id for i in reversed(range(20))][::-1]


# --- C55: checkpoints survive a crash ---------------------------------------------------------------------------------


class Killed(BaseException):
    """Stands for the end of the process."""


def content(text):
    def write(folder):
        (folder / "weights").write_text(text)
        (folder / "state").write_text(json.dumps({"of": text}))

    return write


def half(folder):
    (folder / "weights").write_text("twe")
    raise Killed


def test_c55_with_one_to_keep_a_crash_while_writing_leaves_the_one_before(tmp_path):
    ten = checkpoint.save(tmp_path, 10, content("ten"), keep=1)
    with pytest.raises(Killed):
        checkpoint.save(tmp_path, 20, half, keep=1)
    assert checkpoint.complete(tmp_path) == [ten]
    assert (ten / "weights").read_text() == "ten"


@pytest.mark.parametrize("moment", range(6))
def test_c55_a_crash_at_the_move_or_the_removal_leaves_one_that_is_whole(tmp_path, monkeypatch, moment):
    checkpoint.save(tmp_path, 10, content("ten"), keep=1)
    real, calls = {"replace": os.replace, "fsync": os.fsync}, [0]

    def dies(name):
        def call(*args):
            calls[0] += 1
            if calls[0] > moment:
                raise Killed
            return real[name](*args)

        return call

    with monkeypatch.context() as patch:
        for name in real:
            patch.setattr(os, name, dies(name))
        with pytest.raises(Killed):
            checkpoint.save(tmp_path, 20, content("twenty"), keep=1)
    found = checkpoint.complete(tmp_path)
    assert found
    assert all((path / "weights").read_text() in ("ten", "twenty") for path in found)
    checkpoint.save(tmp_path, 30, content("thirty"), keep=1)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000030"]


def test_c55_what_has_no_final_name_is_not_whole(tmp_path):
    ten = checkpoint.save(tmp_path, 10, content("ten"), keep=1)
    for name in ("step-00000020.part", "step-00000020.damaged", "step-20x", "best"):
        (tmp_path / name).mkdir()
    (tmp_path / "step-00000040").write_text("a file")
    assert checkpoint.complete(tmp_path) == [ten]


def test_c55_a_mistyped_path_is_an_error_and_no_new_start(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"is no run folder: it has no run\.json"):
        RunFolder(tmp_path / "rnu").read()
    assert not (tmp_path / "rnu").exists()
