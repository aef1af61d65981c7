import math

import pytest
import torch

from guerdon.losses.supervised import NegativeLogLikelihood
from guerdon.method import Term
from tests.batches import make_batch, total


def test_the_mean_over_the_masked_tokens_alone():
    logp = torch.tensor([math.nan, -1.0, -3.0], requires_grad=True)
    batch = make_batch(masks=[[0, 1, 1]])
    loss = total(Term(NegativeLogLikelihood()), {"logp": logp}, batch)
    loss.backward()
    assert loss.item() == pytest.approx(2.0)
    assert logp.grad.tolist() == [0.0, -0.5, -0.5]
