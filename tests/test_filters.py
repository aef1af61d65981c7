import numpy as np
import pytest

from guerdon.filters import Band, Fresh, Informative, not_truncated, weigh
from guerdon.types import Episode, Score, Span, Task


def episode(right, length=0.0, stop="stop", version=0):
    spans = [Span(np.array([1, 2])), Span(np.array([3, 4]), np.array([-1.0, -1.0]), parent=0, version=version)]
    return Episode(Task("t", "?"), spans, {"right": Score(right), "overlong": Score(length)}, stop=stop)


def test_informative_groups_are_those_whose_returns_differ():
    assert Informative()([episode(1), episode(0)]) is not None
    assert Informative()([episode(1), episode(1)]) is None
    assert Informative()([episode(1)]) is None
    assert Informative()([episode(0.7)] * 7 + [episode(0.70000005)]) is None


def test_some_rewards_do_not_decide():
    group = [episode(1, -0.5), episode(1, 0.0)]
    assert Informative()(group) is group
    assert Informative(ignore=("overlong",))(group) is None
    assert Informative(weights={"overlong": 0.0})(group) is None


def test_the_weights_of_the_run_are_handed_to_filters_that_look_at_returns():
    filters = weigh((Informative(), not_truncated, Band(0, 1, weights={"right": 2.0})), {"overlong": 0.0})
    assert filters[0] == Informative(weights={"overlong": 0.0})
    assert filters[1] is not_truncated
    assert filters[2].weights == {"right": 2.0}


def test_the_band_holds_its_ends():
    group = [episode(1), episode(0)]
    assert Band(0.5, 0.5)(group) is group
    assert Band(0.6, 1.0)(group) is None
    with pytest.raises(ValueError, match="low <= high"):
        Band(1.0, 0.0)


def test_truncation_is_what_the_sampler_says():
    kept, cut = episode(1), episode(1, stop="length")
    assert not_truncated([kept, cut]) == [kept]
    assert not_truncated([cut]) is None


def test_stale_groups_are_dropped():
    filters = Fresh(max_lag=1, version=lambda: 3)
    assert filters([episode(1, version=2)]) is not None
    assert filters([episode(1, version=3), episode(1, version=1)]) is None
