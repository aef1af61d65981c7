import torch

from guerdon.advantages.segments import actions, paths, segments
from tests.batches import make_batch


def test_ids_need_be_neither_dense_nor_sorted():
    found = segments(torch.tensor([9, 2, 9, 2, 5]))
    values = torch.tensor([1.0, 2.0, 3.0, 4.0, -7.0])
    assert found.count == 3
    assert found.sum(values).tolist() == [6.0, -7.0, 4.0]
    assert found.mean(values).tolist() == [3.0, -7.0, 2.0]
    assert found.max(values).tolist() == [4.0, -7.0, 3.0]
    assert found.size().tolist() == [2, 1, 2]
    assert found.spread(torch.tensor([10.0, 20.0, 30.0])).tolist() == [30.0, 10.0, 30.0, 10.0, 20.0]


def test_a_masked_mean_of_nothing_is_zero():
    found = segments(torch.tensor([0, 0, 1]))
    mean = found.masked_mean(torch.tensor([4.0, float("nan"), 3.0]), torch.tensor([True, False, False]))
    assert mean.tolist() == [4.0, 0.0]


def test_returns_and_groups_of_paths():
    batch = make_batch(rewards=[[1.0, 0.5], [0.0], [2.0, 0, 0]], groups=[4, 8, 4])
    found = paths(batch)
    assert found.returns.tolist() == [1.5, 0.0, 2.0]
    assert found.groups.sum(found.returns).tolist() == [3.5, 0.0]
    later = paths(batch.select(batch.seq != 1))
    assert later.returns.tolist() == [1.5, 2.0]
    assert later.groups.count == 1


def test_equal_rewards_have_equal_returns_wherever_they_were_given():
    batch = make_batch(rewards=[[0.7, 0.0], [0.0, 0.7]])
    assert paths(batch).returns[0] == paths(batch).returns[1]


def test_rewards_of_masked_tokens_land_on_the_action_before_them():
    batch = make_batch(
        rewards=[[1, 2, 4, 8, 16], [32, 64]],
        masks=[[0, 1, 0, 1, 0], [0, 0]],
    )
    layout = actions(batch)
    assert layout.shape == (2, 2)
    assert layout.collect(batch.reward).tolist() == [[7, 24], [0, 0]]
    assert layout.gather(batch.reward).tolist() == [[2, 8], [0, 0]]
    assert layout.scatter(torch.tensor([[-1.0, -2.0], [5.0, 5.0]]), batch.reward).tolist() == [0, -1, 0, -2, 0, 0, 0]
    assert layout.on_last(torch.tensor([9.0, 9.0]), batch.reward).tolist() == [0, 0, 0, 9, 0, 0, 0]


def test_a_batch_without_any_action_has_an_empty_table():
    batch = make_batch([1.0], masks=[[0, 0]])
    layout = actions(batch)
    assert layout.shape == (1, 0)
    assert layout.scatter(layout.collect(batch.reward), batch.reward).tolist() == [0.0, 0.0]
