import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.tasks.base import Endless, Listed, Shuffled, each, held_out
from guerdon.types import Task


def listed(n: int) -> Listed:
    return Listed([Task(f"t{i}", str(i)) for i in range(n)])


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(0, 2**62), st.integers(0, 5))
def test_every_epoch_holds_every_task_once(n, seed, epoch):
    stream = Shuffled(listed(n), seed)
    drawn = [stream.draw(epoch * n + i).id for i in range(n)]
    assert sorted(drawn) == sorted(f"t{i}" for i in range(n))


def test_a_stream_is_resumed_from_one_integer_in_mid_epoch_and_at_its_end():
    whole = [Shuffled(listed(10), 3).draw(i).id for i in range(20)]
    for start in (6, 10):
        again = Shuffled(listed(10), 3)
        assert [again.draw(i).id for i in range(start, 20)] == whole[start:]


def test_epochs_and_seeds_have_orders_of_their_own():
    order = lambda seed, epoch: tuple(Shuffled(listed(30), seed).draw(epoch * 30 + i).id for i in range(30))  # noqa: E731
    assert len({order(0, 0), order(0, 1), order(1, 0), order(1, 1)}) == 4


def test_the_order_is_the_same_on_every_machine():
    assert "".join(Shuffled(listed(8), 0).draw(i).prompt for i in range(8)) == "46175203"


def test_an_endless_stream_passes_its_seed_on():
    stream = Shuffled(Endless(lambda i, seed: Task(f"{seed}/{i}", "")), 5)
    assert stream.draw(10**9).id == "5/1000000000"


def test_ids_must_differ():
    with pytest.raises(ValueError, match="the first is 'a'"):
        Listed([Task("a", "1"), Task("a", "2")])


@pytest.mark.parametrize("i", [-1, 3])
def test_an_index_outside_is_refused(i):
    with pytest.raises(IndexError, match="expected 0 to 2"):
        listed(3).task(i)


def test_nothing_to_draw_from_is_refused():
    with pytest.raises(ValueError, match="no tasks"):
        Shuffled(Listed([]), 0)


def test_each_stops_at_the_limit_and_refuses_the_endless():
    assert [task.id for task in each(listed(5), 2)] == ["t0", "t1"]
    assert len(list(each(listed(5), 9))) == 5
    with pytest.raises(ValueError, match="needs a limit"):
        each(Endless(lambda i, seed: Task("", "")))


def test_about_a_tenth_is_held_out():
    assert 0.08 < sum(held_out(f"{i}+1=") for i in range(5000)) / 5000 < 0.12
