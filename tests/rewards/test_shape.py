import asyncio

import numpy as np
import pytest

from guerdon.rewards.shape import LengthPenalty, Overlong, Repetition
from guerdon.types import Episode, Span, Task
from tests import replies


@pytest.mark.parametrize(("length", "value"), [(10, 0.0), (12, 0.0), (14, -0.5), (16, -1.0)])
def test_the_penalty_grows_through_the_buffer(length, value):
    assert Overlong(16, 4).value(length) == value
    assert Overlong(16, 4, factor=2.0).value(length) == 2 * value


def test_only_sampled_tokens_count():
    spans = [Span(np.arange(20)), Span(np.arange(14), -np.ones(14), parent=0)]
    scores = asyncio.run(Overlong(16, 4)([Episode(Task("t", "?"), spans)], None))
    assert [score.value for score in scores] == [-0.5]


def test_a_buffer_longer_than_the_limit_is_refused():
    with pytest.raises(ValueError, match="buffer is 20"):
        Overlong(16, 20)


@pytest.mark.parametrize(("length", "value"), [(100, 0.0), (130, -0.3), (70, -0.3), (1000, -1.0), (0, -1.0)])
def test_a_length_costs_its_distance_from_the_target(length, value):
    assert LengthPenalty(0.01, target=100).value(length) == pytest.approx(value)


def test_without_a_target_each_token_costs():
    assert [LengthPenalty(0.25, most=2.0).value(length) for length in (0, 1, 4, 100)] == [0.0, -0.25, -1.0, -2.0]
    spans = [Span(np.arange(20)), Span(np.arange(3), -np.ones(3), parent=0)]
    scores = asyncio.run(LengthPenalty(0.25)([Episode(Task("t", "?"), spans)], None))
    assert [score.value for score in scores] == [-0.75]


@pytest.mark.parametrize("settings", [{"per_token": -1.0}, {"target": -1}, {"most": -0.5}, {"per_token": float("nan")}])
def test_a_length_penalty_is_no_reward(settings):
    with pytest.raises(ValueError, match="expected 0 or more"):
        LengthPenalty(**{"per_token": 0.1, **settings})


@pytest.mark.parametrize(
    ("n", "reply", "value"),
    [
        (2, "a b a b a", -0.5),  # ab ba ab ba
        (3, "a b c d e", 0.0),
        (3, "a b a b a b", -0.5),  # aba bab aba bab
        (1, "Go go GO", -2 / 3),
        (3, "a b", 0.0),
        (3, "", 0.0),
        (2, "我喜我喜", -1 / 3),  # 我喜 喜我 我喜
        (1, "a " * 1000, -0.999),
    ],
)
def test_repeated_words_cost(n, reply, value):
    assert replies.scores(Repetition(n), replies.group([reply]))[0].value == pytest.approx(value)


def test_repeated_tokens_cost_in_every_turn_and_none_across_two():
    sampled = [np.array([1, 2, 1]), np.array([2, 1, 2])]
    spans = [Span(np.array([1, 2, 1, 2])), Span(sampled[0], -np.ones(3), parent=0)]
    spans += [Span(np.array([1, 2]), parent=1), Span(sampled[1], -np.ones(3), parent=2)]
    scores = asyncio.run(Repetition(2, unit="tokens")([Episode(Task("t", "?"), spans)], None))
    assert [score.value for score in scores] == [-0.5]  # 12 21, 21 12


@pytest.mark.parametrize("settings", [{"n": 0}, {"unit": "letters"}])
def test_repetition_of_nothing_is_refused(settings):
    with pytest.raises(ValueError, match="expected"):
        Repetition(**settings)
