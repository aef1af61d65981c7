import math

import pytest
import torch

from guerdon.losses.value import PlainValueLoss, ValueLoss, clipped_squared, squared
from guerdon.method import Term
from tests.batches import make_batch, total


def scalars(*values):
    return [torch.tensor(v) for v in values]


def test_the_clip_takes_the_larger_error():
    value, old, target = scalars(1.0, 0.2, 0.5)
    assert clipped_squared(value, old, target, 0.2).item() == pytest.approx(0.125)
    value, old, target = scalars(0.5, 0.2, 0.5)
    assert clipped_squared(value, old, target, 0.2).item() == pytest.approx(0.005)
    assert squared(*scalars(1.0, 0.5)).item() == pytest.approx(0.125)


def test_a_value_that_moved_too_far_towards_its_target_gets_no_gradient():
    value = torch.tensor(0.45, requires_grad=True)
    clipped_squared(value, *scalars(0.2, 0.5), 0.2).backward()
    assert value.grad.item() == 0.0


@pytest.mark.parametrize("cuts", [[1, 3], [4], [2, 2]], ids=str)
def test_the_critic_loss_does_not_depend_on_how_the_batch_is_cut(cuts):
    """Squared errors 4 and 1, 1, 1: their mean is 1.75, the loss half of it."""
    batch = make_batch(masks=[[1], [1, 1, 1]], **{"return": [[2.0], [1.0, 1.0, 1.0]]})
    term = Term(PlainValueLoss())
    weights = term.reduce(batch, batch.mask)
    parts = torch.arange(4).split(cuts)
    loss = sum(
        (weights[rows] * term.objective({"value": torch.zeros(len(rows))}, batch.select(rows))).sum() for rows in parts
    )
    assert loss.item() == pytest.approx(1.75 / 2)


def test_masked_values_reach_nothing():
    value = torch.tensor([math.nan, 1.0], requires_grad=True)
    batch = make_batch(masks=[[0, 1]], value=[[math.nan, 0.2]], **{"return": [[math.nan, 0.5]]})
    loss = total(Term(ValueLoss(0.2)), {"value": value}, batch)
    loss.backward()
    assert loss.item() == pytest.approx(0.125)
    assert value.grad.tolist() == pytest.approx([0.0, 0.5])
