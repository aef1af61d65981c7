import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.advantages.gae import GAE, ReturnToGo
from guerdon.advantages.whiten import Whiten
from tests.batches import make_batch


@pytest.mark.parametrize(
    ("lam", "expected"), [(0.95, [0.4705, 0.39, 0.2]), (1.0, [0.5, 0.4, 0.2]), (0.0, [0.1, 0.2, 0.2])]
)
def test_the_card_and_the_value_targets(lam, expected):
    batch = make_batch(rewards=[[0, 0, 1]], value=[[0.5, 0.6, 0.8]])
    found = GAE(gamma=1.0, lam=lam)(batch)
    assert found.advantage.tolist() == pytest.approx(expected)
    targets = [a + v for a, v in zip(expected, [0.5, 0.6, 0.8], strict=True)]
    assert found.stream("return").tolist() == pytest.approx(targets)


def test_a_discount_by_hand():
    """delta = (0 + 0.5*2 - 1, 3 - 2) = (0, 1); A_0 = 0 + 0.5*0.5*1."""
    batch = make_batch(rewards=[[0, 3]], value=[[1, 2]])
    assert GAE(gamma=0.5, lam=0.5)(batch).advantage.tolist() == pytest.approx([0.25, 1.0])


def test_values_under_the_mask_are_never_read():
    for masked in (50.0, float("nan"), float("inf")):
        batch = make_batch(rewards=[[0, 2, 0]], value=[[0, 0, masked]], masks=[[1, 1, 0]])
        found = GAE(gamma=1.0, lam=0.95)(batch)
        assert found.advantage.tolist() == pytest.approx([1.9, 2.0, 0.0])
        assert found.stream("return").tolist() == pytest.approx([1.9, 2.0, 0.0])


def test_a_terminal_reward_on_a_masked_token_lands_on_the_last_action():
    batch = make_batch(rewards=[[0, 0, 2]], value=[[0, 0, 50]], masks=[[1, 1, 0]])
    assert GAE(gamma=1.0, lam=0.95)(batch).advantage.tolist() == pytest.approx([1.9, 2.0, 0.0])


def test_sequences_end_where_they_end():
    batch = make_batch(rewards=[[0, 1], [0, 0, 0, 5]], value=[[0.0] * 2, [0.0] * 4])
    assert GAE(gamma=1.0, lam=1.0)(batch).advantage.tolist() == [1, 1, 5, 5, 5, 5]
    assert ReturnToGo(0.5)(batch).advantage.tolist() == [0.5, 1, 0.625, 1.25, 2.5, 5]


def test_a_reward_in_the_middle_reaches_only_what_came_before():
    batch = make_batch(rewards=[[0, 1, 0, 2]])
    assert ReturnToGo()(batch).advantage.tolist() == [3, 3, 2, 2]


sequence = st.lists(st.tuples(st.floats(-2, 2, width=16), st.floats(-2, 2, width=16)), min_size=1, max_size=5)


@given(rows=st.lists(sequence, min_size=1, max_size=3), seed=st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("estimator", [GAE(0.9, 0.8), ReturnToGo(0.9)], ids=repr)
def test_inserting_masked_tokens_anywhere_changes_no_advantage(estimator, rows, seed):
    dense = make_batch(rewards=[[r for r, _ in row] for row in rows], value=[[v for _, v in row] for row in rows])
    draw = random.Random(seed)
    padded = [[(r, v, 1) for r, v in row] for row in rows]
    for row in padded:
        for _ in range(draw.randrange(4)):
            row.insert(draw.randrange(len(row) + 1), (0.0, draw.uniform(-9, 9), 0))
    sparse = make_batch(
        rewards=[[r for r, _, _ in row] for row in padded],
        value=[[v for _, v, _ in row] for row in padded],
        masks=[[m for _, _, m in row] for row in padded],
    )
    found = estimator(sparse).advantage
    assert torch.equal(found[sparse.mask], estimator(dense).advantage)
    assert not found[~sparse.mask].any()


@pytest.mark.parametrize(("ddof", "size"), [(1, 0.8660), (0, 1.0)])
def test_whitening_over_all_tokens_of_the_batch(ddof, size):
    batch = make_batch(advantages=[[1.0, 1.0], [0.0, 0.0]])
    white = Whiten(ddof=ddof)(batch).advantage
    assert white.tolist() == pytest.approx([size, size, -size, -size], abs=1e-4)


def test_whitening_does_not_see_masked_tokens():
    batch = make_batch(advantages=[[1.0, 1.0, 99.0], [float("nan"), 0.0, 0.0]], masks=[[1, 1, 0], [0, 1, 1]])
    white = Whiten()(batch).advantage
    assert white.tolist() == pytest.approx([0.8660, 0.8660, 0, 0, -0.8660, -0.8660], abs=1e-4)


@pytest.mark.parametrize("values", [[0.7] * 4, [0.3], [0.7, 0.70000005]], ids=str)
def test_whitening_what_does_not_vary_gives_exactly_zero(values):
    assert Whiten()(make_batch(advantages=[values])).advantage.tolist() == [0.0] * len(values)


def test_whitening_nothing_is_no_error():
    batch = make_batch(advantages=[[1.0, 2.0]], masks=[[0, 0]])
    assert Whiten()(batch).advantage.tolist() == [1.0, 2.0]
