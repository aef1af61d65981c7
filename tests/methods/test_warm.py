"""WARM: each member is a Bradley-Terry model; lines between members, and labels learned by heart."""

from __future__ import annotations

import pytest
import torch

from guerdon.methods.bradley_terry import bradley_terry
from guerdon.methods.warm import connectivity, memorised, warm


def test_a_member_is_a_plain_reward_model():
    assert warm(margins=True, smoothing=0.1).terms == bradley_terry(margins=True, smoothing=0.1).terms
    assert warm().scores == bradley_terry().scores


def test_connectivity_compares_the_line_of_weights_with_the_line_of_accuracies():
    def accuracy(state):
        w = float(state["w"])
        return 1 - (w - 1) ** 2 / 4  # best half way

    found = connectivity({"w": torch.tensor(0.0)}, {"w": torch.tensor(2.0)}, accuracy, points=3)
    assert [one.share for one in found] == [0.0, 0.5, 1.0]
    assert [one.accuracy for one in found] == pytest.approx([0.75, 1.0, 0.75])
    assert [one.line for one in found] == pytest.approx([0.75] * 3)
    with pytest.raises(ValueError, match="at least 2"):
        connectivity({}, {}, accuracy, points=1)


def test_memorised_counts_wrong_labels_alone():
    assert memorised([1.0, -1.0, 0.5, -0.2], [True, True, True, False]) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="none of 2"):
        memorised([1.0, 2.0], [False, False])
