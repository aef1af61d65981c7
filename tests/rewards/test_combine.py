"""Rewards made of rewards: numbers by hand, who is missing, what survives of the parts, and what is refused."""

import asyncio
import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.rewards.base import PerEpisode
from guerdon.rewards.combine import clamp, gate, normalise, product, weighted_sum
from guerdon.rewards.fault import RewardFault
from guerdon.rewards.scoring import score_group
from guerdon.rewards.verify.number import NumericMatch
from guerdon.types import Score, Verdict
from tests.replies import group, scores


@dataclass(frozen=True)
class Says:
    """A reward that gives what it was told: numbers, None or scores."""

    name: str
    told: list = field(default_factory=list)
    weight: float = 1.0

    async def __call__(self, episodes, context):
        await asyncio.sleep(0)
        return [one if isinstance(one, Score) else Score(one) for one in self.told]


def values(reward, n=4):
    return [score.value for score in scores(reward, group(["x"] * n))]


F, G = Says("f", [1.0, None, 0.0, None]), Says("g", [None, 2.0, None, None])
FAILED = Score(verdict=Verdict("failed", "no such file"))


def test_a_sum_of_what_is_there_and_nothing_where_nothing_is():
    assert values(weighted_sum(F, G)) == [1.0, 2.0, 0.0, None]  # C15


def test_weights_are_the_parts_own_and_the_sums_weight_is_for_whoever_uses_it():
    total = weighted_sum(Says("a", [1.0, 2.0], 0.5), Says("b", [10.0, -10.0], 0.1), weight=3.0)
    assert values(total, 2) == [1.5, 0.0]
    assert total.weight == 3.0


def test_a_part_of_weight_zero_is_seen_but_neither_counts_nor_is_missed():
    watched = Says("seen", [7.0, None, FAILED], 0.0)
    total = weighted_sum(Says("a", [1.0, 2.0, 3.0]), watched, missing="error")
    found = scores(total, group(["x"] * 3))
    assert [score.value for score in found] == [1.0, 2.0, 3.0]
    assert found[0].parts == {"a": 1.0, "seen": 7.0}


def test_missing_can_leave_the_episode_unscored_or_be_an_error():
    assert values(weighted_sum(F, Says("h", [1.0] * 4), missing="propagate")) == [2.0, None, 1.0, None]
    with pytest.raises(RewardFault, match="its part 'f' does not apply"):
        scores(weighted_sum(F, Says("h", [1.0] * 4), missing="error"), group(["x"] * 4))


@pytest.mark.parametrize("missing", ["skip", "propagate", "error"])
@pytest.mark.parametrize("status", ["failed", "cannot_tell", "timed_out"])
def test_what_could_not_be_judged_is_no_abstention_and_never_a_zero(missing, status):
    judge = Says("judge", [Score(1.0), Score(verdict=Verdict(status, "unreadable"))])
    for combined in (
        weighted_sum(judge, Says("form", [0.2, 0.2]), missing=missing),
        product(judge, Says("form", [0.2, 0.2]), missing=missing),
        gate(Says("form", [0.2, 0.2]), judge, missing=missing),
        clamp(judge, 0, 1, missing=missing),
        normalise(judge, missing=missing),
    ):
        first, second = scores(combined, group(["x", "y"]))
        assert first.applies
        assert not second.applies
        assert second.verdict == Verdict(status, "unreadable")


def test_zero_is_a_value():
    assert values(weighted_sum(Says("a", [0.0]), Says("b", [None])), 1) == [0.0]
    assert values(product(Says("a", [0.0]), Says("b", [5.0])), 1) == [0.0]
    assert values(gate(Says("a", [0.0]), Says("b", [1.0])), 1) == [0.0]
    assert values(gate(Says("a", [3.0]), Says("b", [0.0]), threshold=0.0), 1) == [3.0]


def test_a_product_skips_what_does_not_apply():
    assert values(product(Says("a", [2.0, 2.0, None, -1.0]), Says("b", [3.0, None, None, 0.5]))) == [6, 2, None, -0.5]


def test_a_gate_opens_at_its_threshold():
    bonus, right = Says("bonus", [0.3, 0.3, 0.3, None]), Says("right", [0.4999, 0.5, 1.0, 1.0])
    assert values(gate(bonus, right)) == [0.0, 0.3, 0.3, None]
    assert values(gate(bonus, right, otherwise=None)) == [None, 0.3, 0.3, None]
    assert values(gate(bonus, right, otherwise=-1.0, threshold=1.0)) == [-1.0, -1.0, 0.3, None]


def test_a_condition_that_does_not_apply_leaves_the_episode_unless_it_is_skipped():
    bonus, right = Says("bonus", [0.3, 0.3]), Says("right", [None, 0.0])
    assert values(gate(bonus, right), 2) == [None, 0.0]
    assert values(gate(bonus, right, missing="skip"), 2) == [0.3, 0.0]


def test_a_clamp_keeps_within_its_ends():
    told = Says("a", [-2.0, 0.5, 9.0, None])
    assert values(clamp(told, 0.0, 1.0)) == [0.0, 0.5, 1.0, None]
    assert values(clamp(told, high=1.0)) == [-2.0, 0.5, 1.0, None]
    with pytest.raises(ValueError, match="low <= high"):
        clamp(told, 1.0, 0.0)


def test_normalising_by_hand():
    """(3, 1, 1, -) has mean 5/3 and population variance 8/9."""
    found = values(normalise(Says("a", [3.0, 1.0, 1.0, None])))
    assert found[:3] == pytest.approx([4 / 3 / math.sqrt(8 / 9), *[-2 / 3 / math.sqrt(8 / 9)] * 2])
    assert found[3] is None


@pytest.mark.parametrize(
    "told",
    [[0.7] * 8, [0.7] * 7 + [0.7 + 5e-8], [1e8] * 7 + [1e8 + 1], [-3.0, None, None], [0.1 + 0.2, 0.3]],
)
def test_rounding_is_no_difference(told):
    assert {value for value in values(normalise(Says("a", told)), len(told)) if value is not None} == {0.0}


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=2, max_size=12), st.floats(0.01, 100), st.integers(-100, 100))
def test_normalised_groups_have_mean_0_and_deviation_1_whatever_the_scale(told, scale, shift):
    found = values(normalise(Says("a", [float(v) for v in told])), len(told))
    moved = values(normalise(Says("a", [v * scale + shift for v in told])), len(told))
    assert np.mean(found) == pytest.approx(0, abs=1e-9)
    assert np.std(found) == pytest.approx(1 if len(set(told)) > 1 else 0)
    assert moved == pytest.approx(found, abs=1e-6)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(*[st.none() | st.integers(-9, 9)] * 3), min_size=1, max_size=6))
def test_nesting_a_sum_in_a_sum_changes_nothing(rows):
    a, b, c = (Says(name, [row[i] for row in rows], w) for i, (name, w) in enumerate([("a", 1), ("b", 0.5), ("c", 2)]))
    flat, nested = weighted_sum(a, b, c), weighted_sum(a, weighted_sum(b, c, name="bc"))
    assert values(nested, len(rows)) == pytest.approx(values(flat, len(rows)))


def test_every_component_stays_visible_under_its_place():
    inner = product(Says("b", [2.0]), Says("c", [None]), name="bc", weight=0.5)
    score = scores(weighted_sum(Says("a", [1.0]), inner), group(["x"]))[0]
    assert score.value == 2.0
    assert score.parts == {"a": 1.0, "bc": 2.0, "bc/b": 2.0}


def test_the_first_verdict_is_the_wholes_and_the_others_are_told():
    right = Says("numeric", [Score(1.0, verdict=Verdict("right", "equal", "7", "number"))])
    form = Says("form", [Score(0.0, verdict=Verdict("wrong", "no closing tag"))])
    plain = Says("plain", [1.0])
    found = scores(weighted_sum(plain, right, form), group(["x"]))[0].verdict
    assert found == Verdict("right", "equal; form: wrong, no closing tag", "7", "number")
    assert scores(weighted_sum(plain, Says("b", [1.0])), group(["x"]))[0].verdict is None


def test_real_verifiers_combine_and_keep_what_they_found():
    short = PerEpisode("short", lambda episode: float(len(episode.reply) < 4))
    total = weighted_sum(NumericMatch(), gate(short, NumericMatch(), weight=0.25))
    found = scores(total, group(["7", "it is 7", "8", ""], answer=7))
    assert [score.value for score in found] == [1.25, 1.0, 0.0, 0.0]
    assert [score.verdict.status for score in found] == ["right", "right", "wrong", "no_answer"]
    assert found[0].parts["short_where_numeric/short"] == 1.0


def test_sums_add_spans_and_tokens_place_by_place():
    a = Says("a", [Score(1.0, {1: 0.5}, {1: np.array([1.0])})], 2.0)
    b = Says("b", [Score(None, {1: 1.0}, {1: np.array([3.0]), 0: np.array([4.0])})])
    score = scores(weighted_sum(a, b), group(["x"]))[0]
    assert (score.value, score.spans) == (2.0, {1: 2.0})
    assert {index: stream.tolist() for index, stream in score.tokens.items()} == {1: [5.0], 0: [4.0]}
    assert score.parts == {"a": 2.5, "b": 8.0}
    only = scores(weighted_sum(b), group(["x"]))[0]
    assert only.value is None
    assert only.applies


def test_a_gate_passes_spans_on_and_drops_them_when_closed():
    step = Says("step", [Score(None, {1: 0.5}), Score(None, {1: 0.5})])
    found = scores(gate(step, Says("right", [1.0, 0.0])), group(["x", "y"]))
    assert [(score.value, dict(score.spans)) for score in found] == [(None, {1: 0.5}), (0.0, {})]


@pytest.mark.parametrize("make", [lambda r: product(r, Says("b", [1.0])), clamp, normalise])
def test_spans_have_no_product_bounds_or_deviation(make):
    with pytest.raises(RewardFault, match="its part 'step' scores single spans"):
        scores(make(Says("step", [Score(None, {1: 0.5})])), group(["x"]))


def test_token_streams_of_two_lengths_are_a_fault_and_not_broadcast():
    a, b = Says("a", [Score(tokens={1: np.ones(3)})]), Says("b", [Score(tokens={1: np.ones(1)})])
    with pytest.raises(ValueError, match="span 1 with 3 and 1 values"):
        scores(weighted_sum(a, b), group(["x"]))


def raises(error):
    def function(episode):
        raise error

    return PerEpisode("broken", function)


@pytest.mark.parametrize(
    ("part", "says"),
    [
        (raises(KeyError("answer")), "its part 'broken': KeyError: 'answer'"),
        (raises(RewardFault("broken", "t", "it hung", "an answer")), "its part 'broken': it hung; expected an answer"),
        (Says("short", [1.0]), "its part 'short' gave 1 scores"),
        (Says("long", [1.0] * 5), "its part 'long' gave 5 scores"),
    ],
)
def test_a_broken_part_is_named_and_fails_the_whole_not_just_itself(part, says):
    episodes = group(["x", "y"])
    faults = asyncio.run(score_group(episodes, [weighted_sum(Says("a", [1.0, 1.0]), part)], None))
    assert [says in str(fault) for fault in faults] == [True]
    assert [episode.scores["sum"].verdict.status for episode in episodes] == ["failed", "failed"]
    assert not any(episode.scores["sum"].applies for episode in episodes)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "make",
    [
        lambda r: weighted_sum(Says("a", [1.0] * 3), r, name="all"),
        lambda r: product(Says("a", [0.0] * 3), r, name="all"),
        lambda r: gate(Says("a", [1.0] * 3), r, name="all"),
        lambda r: clamp(r, 0, 1, name="all"),
        lambda r: normalise(r, name="all"),
        lambda r: weighted_sum(clamp(r, 0, 1), name="all"),
    ],
)
def test_one_number_that_is_none_takes_one_episode_away_and_is_a_fault(make, bad):
    episodes = group(["x", "y", "z"])
    faults = asyncio.run(score_group(episodes, [make(Says("bad", [1.0, bad, 2.0]))], None))
    assert len(faults) == 1
    assert [episode.scores["all"].applies for episode in episodes] == [True, False, True]
    assert episodes[1].scores["all"].verdict.status == "failed"


def test_cancellation_passes_through():
    async def wait(episode):
        await asyncio.sleep(60)

    async def cancelled():
        waiting = asyncio.create_task(weighted_sum(PerEpisode("slow", wait), F)(group(["x"] * 4), None))
        await asyncio.sleep(0.01)
        waiting.cancel()
        await waiting

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


def test_parts_are_asked_side_by_side():
    inside, most = [0], [0]

    async def busy(episode):
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        await asyncio.sleep(0.01)
        inside[0] -= 1
        return 1.0

    assert values(weighted_sum(PerEpisode("a", busy), PerEpisode("b", busy)), 1) == [2.0]
    assert most == [2]


def test_what_judges_said_stays_trainable():
    own, other = group(["judged"]), group(["again"])
    a, b = Says("a", [Score(1.0, episodes=tuple(own))]), Says("b", [Score(2.0, episodes=tuple(other))])
    assert scores(weighted_sum(a, b), group(["x"]))[0].episodes == (*own, *other)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: weighted_sum(F, F), "several parts called 'f'"),
        (lambda: product(F, G, Says("g")), "several parts called 'g'"),
        (lambda: gate(F, Says("f", [1.0], 1.0)), "several parts called 'f'"),
        (lambda: weighted_sum(), "combines no rewards"),
        (lambda: weighted_sum(F, missing="ignore"), "missing is 'ignore'"),
        (lambda: product(F, Says("w", [], 0.5)), "its part 'w' has weight 0.5"),
        (lambda: gate(F, Says("w", [], 0.0)), "its part 'w' has weight 0"),
        (lambda: normalise(Says("w", [], 2.0)), "give the weight to the whole"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_once(make, says):
    with pytest.raises(ValueError, match=says):
        make()
