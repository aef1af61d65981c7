import math

import pytest
import torch

from guerdon.advantages.correction import TruncatedImportance, per_sequence
from guerdon.advantages.gae import ReturnToGo
from guerdon.advantages.penalty import KLPenalty
from tests.batches import make_batch


def gap():
    """Trainer above sampler by ln 4, ln 0.5 on two actions of one sequence; equal on the other."""
    behavior = [[-3.0, -2.0, -1.0], [-1.0]]
    old = [[-3.0 + math.log(4), -2.0 + math.log(0.5), math.nan], [-1.0]]
    return make_batch(masks=[[1, 1, 0], [1]], behavior=behavior, old=old)


def test_weights_of_tokens_are_cut_and_the_raw_ones_kept():
    found = TruncatedImportance(cap=3.0)(gap())
    assert found.extra["correction"].tolist() == pytest.approx([3.0, 0.5, 0.0, 1.0])
    assert found.extra["correction_raw"].tolist() == pytest.approx([4.0, 0.5, 0.0, 1.0])


def test_weights_of_sequences_are_products():
    found = TruncatedImportance(cap=1.5, level=per_sequence)(gap())
    assert found.extra["correction"].tolist() == pytest.approx([1.5, 1.5, 0.0, 1.0])
    assert found.extra["correction_raw"].tolist() == pytest.approx([2.0, 2.0, 0.0, 1.0])


def test_weights_carry_no_gradient_and_stay_finite():
    old = torch.tensor([900.0, -1.0], requires_grad=True)
    batch = make_batch(behavior=[[-1.0, -1.0]]).put(old=old)
    found = TruncatedImportance()(batch)
    assert not found.extra["correction"].requires_grad
    assert torch.isfinite(found.extra["correction_raw"]).all()
    assert found.extra["correction"].tolist() == [2.0, 1.0]


def test_a_missing_recomputation_is_named():
    with pytest.raises(KeyError, match="old"):
        TruncatedImportance()(make_batch([1.0]))
    with pytest.raises(ValueError, match="positive"):
        TruncatedImportance(cap=0.0)


def test_the_penalty_is_taken_from_each_action_and_reaches_earlier_ones_through_the_return():
    batch = make_batch(
        rewards=[[0, 0, 0, 1.0]],
        masks=[[0, 1, 1, 1]],
        behavior=[[0.0, -1.0, -1.0, -2.0]],
        ref=[[math.nan, -2.0, -1.0, -1.0]],
    )
    penalised = KLPenalty(0.1)(batch)
    assert penalised.reward.tolist() == pytest.approx([0, -0.1, 0, 1.1])
    assert ReturnToGo()(penalised).advantage.tolist() == pytest.approx([0, 1.0, 1.1, 1.1])


def test_the_penalty_prefers_recomputed_log_probabilities():
    batch = make_batch(behavior=[[-5.0]], ref=[[-2.0]], old=[[-1.0]])
    assert KLPenalty(1.0)(batch).reward.tolist() == [-1.0]
