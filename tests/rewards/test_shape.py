import asyncio

import numpy as np
import pytest

from guerdon.rewards.shape import Overlong
from guerdon.types import Episode, Span, Task


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
