"""Where experience comes from: order, lag, refills, faults, abstentions, and being written down."""

import asyncio
import itertools
import pickle
import time
from dataclasses import dataclass, field

import numpy as np
import pytest

from guerdon.advantages.group import GroupMean
from guerdon.collate import collate
from guerdon.metrics import values
from guerdon.rewards.base import PerEpisode
from guerdon.rewards.scoring import score_group, scored
from guerdon.rewards.user import wrap_reward
from guerdon.samplers.base import Sample, Sampling
from guerdon.sources import Dataset, Rollouts, Starved, TooManyFaults
from guerdon.types import Score, Span, Task, Verdict
from tests.replies import group

BATCH = 3


class Words:
    """A chat whose prompt is one token."""

    def prompt(self, prompt):
        return np.array([int(prompt)])


@dataclass
class Counting:
    """A sampler whose reply names the prompt and the seed; it yields to the loop as often as `turns` says."""

    version: int = 0
    turns: int = 0
    versions_seen: list = field(default_factory=list)

    async def sample(self, prompt, how, seeds):
        for _ in range(1 + self.turns * int(prompt[0]) % 7):
            await asyncio.sleep(0)
        self.versions_seen.append(self.version)
        return [self._one(int(prompt[0]), seed) for seed in seeds]

    def _one(self, prompt, seed):
        message = {"role": "assistant", "content": f"{prompt}:{seed % 10}"}
        return Sample(
            [Span(np.array([seed % 10]), np.array([-1.0]), version=self.version, message=message)], "stop", ""
        )

    def load(self, weights, version):
        self.version = version


@dataclass
class Learning:
    """A learner that has learned `version` times."""

    version: int = 0
    engines: dict = field(default_factory=dict)


def task(i):
    return Task(f"t{i}", str(i), {"i": i})


def last_digit(completion, **columns):
    return float(completion[-1])


def source(sampler=None, reward=None, **changes):
    rewards = changes.pop("rewards", None) or [PerEpisode("r", reward or (lambda e: float(e.reply[-1])))]
    settings = {"batch": BATCH, "n": 2, "how": Sampling(max_tokens=1), "chat": Words(), "tasks": task, **changes}
    return Rollouts(samplers={"policy": sampler or Counting()}, rewards=rewards, **settings)


async def steps(source, number, learner=None, after=lambda step, data: None):
    """Take and publish `number` times; the groups' task ids per step."""
    learner = learner or Learning()
    taken = []
    async with source:
        for step in range(number):
            data = await source.take(learner.version)
            taken.append([g[0].task.id for g in data.groups])
            learner.version += 1
            await source.publish(learner)
            after(step, data)
    return taken


def run(*args, **kwargs):
    return asyncio.run(steps(*args, **kwargs))


def ids(*numbers):
    return [f"t{i}" for i in numbers]


# --- order and lag ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lag", [0, 1, 2])
@pytest.mark.parametrize("turns", [0, 1, 3])
def test_tasks_come_in_the_order_of_their_draws_however_long_each_takes(lag, turns):
    async def slow(episode):
        for _ in range(turns * episode.task.data["i"] % 5):
            await asyncio.sleep(0)
        return 1.0

    found = run(source(Counting(turns=turns), slow, max_lag=lag), 4)
    assert found == [ids(*range(i, i + BATCH)) for i in range(0, 12, BATCH)]


def test_the_same_draws_give_the_same_replies_whenever_they_are_made():
    def replies(lag, turns):
        seen = []
        run(source(Counting(turns=turns), max_lag=lag), 3, after=lambda s, d: seen.extend(d.groups))
        return [[episode.reply for episode in g] for g in seen]

    assert replies(0, 0) == replies(1, 3)
    other = []
    run(source(seed=1), 3, after=lambda s, d: other.extend(d.groups))
    assert replies(0, 0) != [[e.reply for e in g] for g in other]


@pytest.mark.parametrize("lag", [0, 1, 2])
def test_data_is_as_old_as_the_lag_allows_and_never_older(lag):
    lags = []

    def look(step, data):
        versions = {span.version for g in data.groups for e in g for span in e.spans if span.sampled}
        lags.append(step - min(versions))
        assert values(data.stats)["lag"] == step - np.mean([g[0].spans[1].version for g in data.groups])

    run(source(max_lag=lag), 6, after=look)
    assert lags == [min(step, lag) for step in range(6)]


@pytest.mark.parametrize("lag", [0, 1, 2])
def test_refills_keep_the_lag_and_the_order(lag):
    def odd(g):
        return g if g[0].task.data["i"] % 2 else None

    lags = []

    def look(step, data):
        versions = [span.version for g in data.groups for e in g for span in e.spans if span.sampled]
        lags.append(step - min(versions))

    found = run(source(Counting(turns=1), max_lag=lag, filters=[odd]), 6, after=look)
    assert [i for step in found for i in step] == ids(*range(1, 36, 2))
    assert max(lags) <= lag
    assert all(len(step) == BATCH for step in found)


def test_a_completion_is_of_one_version_also_when_weights_change_while_it_is_in_flight():
    sampler = Counting(turns=5)
    run(source(sampler, max_lag=1), 4, after=lambda s, d: None)
    assert sampler.versions_seen == sorted(sampler.versions_seen)
    assert sampler.versions_seen.count(0) == 2 * BATCH


# --- filters ---------------------------------------------------------------------------------------------------------


def test_counts_are_of_everything_rolled_out_and_rewards_of_what_was_taken():
    def late(g):
        return g if g[0].task.data["i"] >= 4 else None

    seen = []
    run(source(reward=lambda e: float(e.task.data["i"]), filters=[late]), 1, after=lambda s, d: seen.append(d))
    found = values(seen[0].stats)
    assert found["sampled/groups"] == 7  # 0-2 are dropped, of 3-5 there are left 4 and 5, and 6 is the refill for 3
    assert found["sampled/rollouts"] == found["sampled/tokens"] == 14
    assert found["reward/r"] == 5.0
    assert [g[0].task.id for g in seen[0].groups] == ids(4, 5, 6)


def test_filters_that_drop_everything_starve_the_run_and_are_named_with_their_counts():
    def never(g):
        return None

    def not_even(g):
        return g if g[0].task.data["i"] % 2 else None

    with pytest.raises(Starved, match=r"12 groups in a row .* batch of 3 .*not_even: 6, never: 6") as caught:
        run(source(filters=[not_even, never], patience=4), 1)
    assert "too easy or too hard" in str(caught.value)


def test_what_filters_leave_must_be_enough_to_compare():
    def first(group):
        return group[:1]

    def first_of_odd(group):
        return group if group[0].task.data["i"] % 2 else group[:1]

    assert run(source(filters=[first]), 1) == [ids(0, 1, 2)]
    assert run(source(filters=[first_of_odd], min_group=2), 1) == [ids(1, 3, 5)]
    with pytest.raises(Starved, match=r"fewer than 2 completions left: \d+"):
        run(source(filters=[first], min_group=2), 1)


def test_a_filter_that_passes_now_and_then_does_not_starve():
    def seldom(g):
        return g if g[0].task.data["i"] % 7 == 0 else None

    assert run(source(filters=[seldom], patience=8), 3) == [ids(0, 7, 14), ids(21, 28, 35), ids(42, 49, 56)]


# --- faults ----------------------------------------------------------------------------------------------------------


def faulty(what):
    """A user's reward that breaks on task 1 in the named way."""

    def reward(completions, i, **columns):
        if i[0] != 1:
            return [1.0, 0.0]
        if what == "raises":
            raise ValueError("broken pipe")
        if what == "hangs":
            time.sleep(0.4)
        return {"nan": [float("nan"), 0.0], "long": [1.0, 2.0, 3.0], "text": "0", "hangs": [1.0, 0.0]}[what]

    return wrap_reward(reward, "r", timeout=0.1)


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("raises", "ValueError: broken pipe"),
        ("nan", "value 0 is nan"),
        ("long", "it returned 3 values"),
        ("text", "it returned '0'"),
        ("hangs", "no answer within 0.1 s"),
    ],
)
def test_a_broken_reward_is_named_with_its_task_and_the_run_goes_on(what, says):
    seen = []
    found = run(source(rewards=[faulty(what)]), 2, after=lambda s, d: seen.append(d))
    spoiled = 1 if what == "nan" else 2  # one value of two is not a number; everything else spoils both
    kept = [ids(0, 1, 2), ids(3, 4, 5)] if what == "nan" else [ids(0, 2, 3), ids(4, 5, 6)]
    assert found == kept
    assert [(f.task, f.where, f.samples) for f in seen[0].faults] == [("t1", "reward 'r'", spoiled)]
    assert says in seen[0].faults[0].what
    assert values(seen[0].stats)["faults"] == spoiled
    assert seen[1].faults == []


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (1.0, "it returned float values; expected a `Score`"),
        (Score(spans={7: 1.0}), "it scores span 7 of an episode of 2 spans"),
        (Score(spans={0: 1.0}), "it scores span 0, which the policy did not sample"),
        (Score(tokens={1: np.ones(5)}), "it gives 5 token values for span 1 of 1 tokens"),
        (Score(tokens={-1: np.ones(1)}), "it scores span -1"),
    ],
)
def test_a_score_that_does_not_fit_its_episode_is_a_fault_and_the_run_goes_on(given, says):
    class Reward:
        name, weight = "r", 1.0

        async def __call__(self, group, context):
            return [given if episode.task.id == "t1" else Score(float(i)) for i, episode in enumerate(group)]

    seen = []
    run(source(rewards=[Reward()]), 1, after=lambda s, d: seen.append(d))
    assert {(fault.task, fault.where) for fault in seen[0].faults} == {("t1", "reward 'r'")}
    assert says in seen[0].faults[0].what
    assert [g[0].task.id for g in seen[0].groups] == ids(0, 2, 3)


def test_a_broken_rollout_is_named_with_its_task_and_the_run_goes_on():
    async def rollout(task, context):
        from guerdon.rollouts.single import single_turn

        if task.id == "t1":
            raise ConnectionError("the sandbox is gone")
        return await single_turn(task, context)

    seen = []
    run(source(rollout=rollout), 1, after=lambda s, d: seen.append(d))
    assert str(seen[0].faults[0]) == "task t1: rollout: ConnectionError: the sandbox is gone"
    assert "t1" not in [g[0].task.id for g in seen[0].groups]


def test_something_inside_a_rollout_that_cancels_itself_is_a_fault_and_no_stop():
    async def reward(episode):
        if episode.task.id == "t1":
            raise asyncio.CancelledError
        return 1.0

    seen = []
    run(source(reward=reward), 1, after=lambda s, d: seen.append(d))
    assert str(seen[0].faults[0]) == "task t1: rollout: it was cancelled from inside"


def test_too_many_faults_stop_the_run_with_examples():
    def reward(episode):
        if episode.task.data["i"] >= 6:
            raise KeyError("answer")
        return 1.0

    with pytest.raises(TooManyFaults, match=r"12 of the last 24 samples .*limit 25%.*task t\d+: reward 'r': KeyError"):
        run(source(reward=reward), 9)


def test_few_faults_are_survived_for_ever():
    def reward(episode):
        if episode.task.data["i"] % 6 == 0:
            raise KeyError("answer")
        return 1.0

    assert len(run(source(reward=reward), 20)) == 20


def test_an_error_in_a_filter_is_a_bug_and_ends_the_run_without_leftovers():
    def broken(g):
        raise AssertionError("bug")

    async def hanging(episode):
        return 1.0 if episode.task.id == "t1" else await asyncio.sleep(3600)

    async def main():
        with pytest.raises(AssertionError, match="bug"):
            await steps(source(reward=hanging, filters=[broken]), 1)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


@pytest.mark.parametrize("lag", [0, 1])
def test_a_cancelled_take_passes_it_on_and_leaves_nothing_behind(lag):
    gone = []

    async def hanging(episode):
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            gone.append(episode.task.id)
            raise

    async def main():
        taking = asyncio.create_task(steps(source(reward=hanging, max_lag=lag), 1))
        for _ in range(50):
            await asyncio.sleep(0)
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert sorted(set(gone)) == sorted(ids(*range((lag + 1) * BATCH)))

    asyncio.run(main())


# --- abstentions -----------------------------------------------------------------------------------------------------


def given(name, scores, weight=1.0):
    by_reply = dict(zip("abcd", scores, strict=True))
    return PerEpisode(name, lambda episode: by_reply[episode.reply], weight)


def score(episodes, rewards):
    return asyncio.run(score_group(episodes, rewards, None))


def test_rewards_that_abstain_leave_the_rest_and_an_unscored_row_leaves_the_group():
    episodes, rewards = group("abcd"), [given("f", [1.0, None, 0.0, None]), given("g", [None, 2.0, None, None])]
    assert score(episodes, rewards) == []
    kept = scored(episodes, rewards)
    assert [episode.reply for episode in kept] == ["a", "b", "c"]
    batch = GroupMean()(collate([kept]))
    assert batch.reward[batch.mask].tolist() == [1.0, 2.0, 0.0]
    assert batch.advantage[batch.mask].tolist() == [0.0, 1.0, -1.0]


def test_abstentions_are_counted_and_a_group_without_a_score_is_dropped():
    def reward(episode):
        return None if episode.task.id == "t1" or (episode.task.id == "t2" and episode.spans[1].tokens[0] % 2) else 1.0

    seen = []
    run(source(reward=reward, n=8), 1, after=lambda s, d: seen.append(d))
    sizes = [len(g) for g in seen[0].groups]
    assert [g[0].task.id for g in seen[0].groups] == ids(0, 2, 3)
    assert sizes[0] == sizes[2] == 8
    assert 0 < sizes[1] < 8
    found = values(seen[0].stats)
    assert found["unscored"] == (8 + 8 - sizes[1]) / found["sampled/rollouts"]
    assert found["faults"] == 0


def test_a_run_in_which_no_reward_ever_applies_says_so():
    with pytest.raises(Starved, match="no reward applied: 6"):
        run(source(reward=lambda e: None, patience=2), 1)


def test_an_episode_in_which_nothing_was_sampled_leaves_the_group():
    said, silent = group("ab")
    silent.spans = silent.spans[:1]
    rewards = [PerEpisode("r", lambda episode: 1.0)]
    assert score([said, silent], rewards) == []
    assert scored([said, silent], rewards) == [said]


def test_zero_is_a_score_and_an_absent_one_is_not():
    episodes = group("ab")
    episodes[0].scores["r"] = Score(0.0)
    asked = []

    def one(episode):
        asked.append(episode.reply)
        return 1.0

    score(episodes, [PerEpisode("r", one)])
    assert [episode.scores["r"].value for episode in episodes] == [0.0, 1.0]
    assert len(scored(episodes, [PerEpisode("r", one)])) == 2
    zeros = group("ab")
    score(zeros, [PerEpisode("r", lambda e: 0.0)])
    assert len(scored(zeros, [PerEpisode("r", lambda e: 0.0)])) == 2


def test_a_reward_that_only_watches_does_not_keep_an_episode_and_its_fault_does_not_drop_one():
    def broken(episode):
        raise ValueError("no")

    rewards = [given("f", [1.0, None, 0.0, None]), PerEpisode("watch", broken, weight=0.0)]
    episodes = group("abcd")
    faults = score(episodes, rewards)
    assert [fault.where for fault in faults] == ["reward 'watch'"]
    assert [episode.reply for episode in scored(episodes, rewards)] == ["a", "c"]
    assert episodes[0].scores["watch"].verdict.status == "failed"


def test_one_nan_takes_one_sample_away():
    episodes, rewards = group("abcd"), [given("f", [1.0, float("nan"), 0.0, float("inf")])]
    faults = score(episodes, rewards)
    assert len(faults) == 2
    assert [episode.reply for episode in scored(episodes, rewards)] == ["a", "c"]


# --- written down ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lag", [0, 1, 2])
@pytest.mark.parametrize("cut", [0, 1, 3])
def test_a_restored_source_goes_on_as_if_nothing_had_been(lag, cut):
    def picky(g):
        return g if g[0].task.data["i"] % 3 else None

    def build():
        return source(Counting(turns=2), max_lag=lag, filters=[picky])

    def told(data):
        numbers = {name: value for name, value in values(data.stats).items() if not name.startswith("seconds/")}
        return [[(e.task.id, e.reply, e.spans[1].version) for e in g] for g in data.groups], numbers

    straight = []
    run(build(), 6, after=lambda s, d: straight.append(told(d)))

    async def main():
        found, learner, first, state = [], Learning(), build(), None
        async with first:
            for _ in range(cut):
                found.append(told(await first.take(learner.version)))
                learner.version += 1
                await first.publish(learner)
            state = pickle.dumps(await first.state())
        second = build()
        second.restore(pickle.loads(state))
        second.samplers["policy"].load(None, learner.version)
        async with second:
            for _ in range(6 - cut):
                found.append(told(await second.take(learner.version)))
                learner.version += 1
                await second.publish(learner)
        return found

    assert asyncio.run(main()) == straight


def test_groups_in_flight_are_in_the_state_with_what_they_cost():
    async def main():
        one = source(max_lag=1)
        async with one:
            await one.take(0)
            await one.publish(Learning(1))
            state = await one.state()
        assert [(attempt.draw, attempt.version) for attempt in state["ready"]] == [(3, 0), (4, 0), (5, 0)]
        assert [(attempt.draw, attempt.version) for attempt in state["flying"]] == [(6, 1), (7, 1), (8, 1)]
        assert all(attempt.group for attempt in state["flying"])
        assert state["draws"] == 9

    asyncio.run(main())


def in_order(source, number):
    return list(itertools.chain.from_iterable(run(source, number)))


def test_a_data_set_shows_each_row_once_an_epoch_in_another_order_each_time():
    rows = [group([str(i)], f"row{i}") for i in range(7)]
    found = in_order(Dataset(rows, batch=2), 14)
    epochs = [found[i : i + 7] for i in range(0, 28, 7)]
    assert all(sorted(epoch) == [f"row{i}" for i in range(7)] for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 4
    assert found == in_order(Dataset(rows, batch=2), 14)
    assert found != in_order(Dataset(rows, batch=2, seed=1), 14)


def test_a_restored_data_set_goes_on_where_it_was():
    rows = [group([str(i)], f"row{i}") for i in range(5)]
    straight = run(Dataset(rows, batch=3), 6)
    first, second = Dataset(rows, batch=3), Dataset(rows, batch=3)
    begin = run(first, 2)
    second.restore(pickle.loads(pickle.dumps(asyncio.run(first.state()))))
    assert begin + run(second, 4) == straight


def test_a_data_set_smaller_than_a_batch_goes_round_and_an_empty_one_is_refused():
    rows = [group([str(i)], f"row{i}") for i in range(2)]
    assert sorted(run(Dataset(rows, batch=4), 1)[0]) == ["row0", "row0", "row1", "row1"]
    with pytest.raises(ValueError, match="empty"):
        Dataset([], batch=1)


def test_a_reward_that_failed_is_no_zero_beside_another():
    """Returns [1.2, 1.2, 1.2] of the three that could be judged, and nothing of the fourth."""

    class Judge:
        name, weight = "judge", 1.0

        async def __call__(self, group, context):
            failed = Score(verdict=Verdict("failed", "the server is gone"))
            return [failed, *(Score(1.0) for _ in group[1:])]

    seen = []
    form = wrap_reward(lambda completions: [0.2] * len(completions), "form")
    run(source(rewards=[Judge(), form], n=4), 1, after=lambda s, d: seen.append(d))
    for kept in seen[0].groups:
        assert [sum(score.total() for score in episode.scores.values()) for episode in kept] == [1.2] * 3
    assert values(seen[0].stats)["unscored"] == 0.25
    assert values(seen[0].stats)["verdict/judge/failed"] == 0.25
