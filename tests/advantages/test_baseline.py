import pytest

from guerdon.advantages.baseline import CentreRewards, MinusBatchMean
from guerdon.advantages.chain import Chain
from guerdon.advantages.gae import ReturnToGo
from guerdon.advantages.group import GroupNorm
from guerdon.advantages.segments import paths
from tests.batches import make_batch


def test_the_mean_of_the_batch_is_over_paths_not_tokens():
    batch = make_batch(rewards=[[0, 0, 4.0], [1.0]])
    found = Chain((ReturnToGo(), MinusBatchMean()))(batch)
    assert found.advantage.tolist() == [1.5, 1.5, 1.5, -1.5]


def test_the_baseline_stays_off_the_mask():
    batch = make_batch(rewards=[[0, 0, 4.0], [1.0]], masks=[[0, 1, 1], [1]])
    assert Chain((ReturnToGo(), MinusBatchMean()))(batch).advantage.tolist() == [0, 1.5, 1.5, -1.5]


def test_centred_scores_sum_to_zero_and_keep_their_place():
    batch = make_batch(rewards=[[1, 0, 3.0], [0, 2.0]], masks=[[1, 1, 0], [1, 1]])
    centred = CentreRewards()(batch)
    assert paths(centred).returns.tolist() == pytest.approx([1.0, -1.0])
    assert centred.reward.tolist() == [1, -3, 3, 0, -1]
    go = ReturnToGo()(centred).advantage
    assert go.tolist() == [1, 0, 0, -1, -1]


def test_centring_equal_scores_leaves_exactly_nothing():
    centred = CentreRewards()(make_batch([0.7] * 8))
    assert ReturnToGo()(centred).advantage.tolist() == [0.0] * 16


def test_a_chain_asks_for_what_any_link_asks_for():
    class Reader(GroupNorm):
        needs = ("ref", "value")

    class Other(ReturnToGo):
        needs = ("value", "old")

    chain = Chain((Other(), Reader()))
    assert chain.needs == ("value", "old", "ref")
    assert chain.min_group == 2
    assert Chain(()).min_group == 1
    assert chain == Chain((Other(), Reader()))
