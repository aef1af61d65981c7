import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.advantages.group import GroupMean, GroupNorm, LeaveOneOut, has_signal
from guerdon.advantages.segments import paths
from guerdon.method import Estimator
from tests.batches import make_batch

ALL = [GroupMean(), GroupNorm(), LeaveOneOut()]
third = pytest.approx(-1 / 3)


def per_sequence(estimator, returns, groups=None):
    """The advantage of each sequence, the same on both of its tokens."""
    rows = estimator(make_batch(returns, groups)).advantage.view(-1, 2)
    assert torch.equal(rows[:, 0], rows[:, 1])
    return rows[:, 0].tolist()


def test_one_right_answer_of_four():
    assert per_sequence(GroupNorm(eps=0.0), [1, 0, 0, 0]) == pytest.approx([1.5, -0.5, -0.5, -0.5])
    assert per_sequence(GroupNorm(), [1, 0, 0, 0]) == pytest.approx([1.5, -0.5, -0.5, -0.5], abs=1e-5)
    assert per_sequence(LeaveOneOut(), [1, 0, 0, 0]) == pytest.approx([1, -1 / 3, -1 / 3, -1 / 3])
    assert per_sequence(GroupMean(), [1, 0, 0, 0]) == pytest.approx([0.75, -0.25, -0.25, -0.25])


def test_the_population_deviation_and_eps_are_settings():
    assert per_sequence(GroupNorm(eps=0.0, ddof=0), [1, 0, 0, 0])[0] == pytest.approx(0.75 / 0.1875**0.5)
    assert per_sequence(GroupNorm(eps=0.5), [1, 0, 0, 0]) == pytest.approx([0.75, -0.25, -0.25, -0.25])


def test_groups_do_not_see_each_other():
    assert per_sequence(LeaveOneOut(), [1, 5, 0, 5], groups=[2, 9, 2, 9]) == pytest.approx([1, 0, -1, 0])


@pytest.mark.parametrize("estimator", ALL, ids=repr)
@pytest.mark.parametrize(
    "returns", [[0.7] * 8, [0.7] * 7 + [0.70000005], [0.0] * 4, [1e6] * 3, [-0.3] * 5], ids=lambda r: f"{r[0]}x{len(r)}"
)
def test_equal_rewards_give_exactly_zero(estimator, returns):
    assert not has_signal(paths(make_batch(returns))).any()
    assert per_sequence(estimator, returns) == [0.0] * len(returns)


def test_the_tolerance_is_relative_to_large_returns_and_leaves_small_differences_alone():
    assert has_signal(paths(make_batch([0.7, 0.7, 0.7, 0.7001]))).all()
    assert not has_signal(paths(make_batch([1e6, 1e6 + 0.5]))).any()
    assert has_signal(paths(make_batch([1e6, 1e6 + 4]))).all()


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_a_group_of_one_is_refused_at_start_and_harmless_if_it_gets_through(estimator):
    assert isinstance(estimator, Estimator)
    assert estimator.min_group == 2
    assert per_sequence(estimator, [1.0]) == [0.0]


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_prompts_and_answers_of_tools_get_no_advantage(estimator):
    batch = make_batch([1.0, 0.0], masks=[[0, 1, 0, 1], [0, 0, 0, 0]])
    advantage = estimator(batch).advantage
    assert (advantage != 0).tolist() == [False, True, False, True] + [False] * 4


@given(
    returns=st.lists(st.integers(-20, 20), min_size=2, max_size=6),
    shift=st.integers(-50, 50),
    pick=st.sampled_from(ALL),
)
@settings(max_examples=40, deadline=None)
def test_a_shift_of_all_rewards_changes_nothing_and_advantages_sum_to_zero(returns, shift, pick):
    plain = per_sequence(pick, returns)
    assert per_sequence(pick, [r + shift for r in returns]) == pytest.approx(plain, abs=1e-5)
    assert sum(plain) == pytest.approx(0, abs=1e-4)


@given(returns=st.lists(st.integers(-20, 20), min_size=2, max_size=6))
@settings(max_examples=20, deadline=None)
def test_leave_one_out_is_the_centred_return_times_n_over_n_minus_one(returns):
    n = len(returns)
    expected = [a * n / (n - 1) for a in per_sequence(GroupMean(), returns)]
    assert per_sequence(LeaveOneOut(), returns) == pytest.approx(expected, abs=1e-4)
