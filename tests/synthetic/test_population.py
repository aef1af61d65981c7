"""The best Bradley-Terry parameters: those of the truth where it is one, a stationary point where it is not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from guerdon.synthetic.labels import Labellers, Labels, sigmoid
from guerdon.synthetic.population import bt_loss, bt_optimum
from guerdon.synthetic.vectors import World


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_of_linear_labels_the_truth_is_found(temperature: float):
    world = World(dim=4)
    pairs = world.compare(Labels((Labellers(temperature=temperature),)), 500)
    assert bt_optimum(pairs.a.x - pairs.b.x, pairs.probability) == pytest.approx(world.weights / temperature, abs=1e-7)


def test_one_number_by_hand():
    assert bt_optimum(np.array([[2.0], [-2.0]]), np.array([0.9, 0.1])) == pytest.approx([math.log(9) / 2])


@pytest.mark.parametrize("labels", [Labels(cycle=2.0), Labels((Labellers(flip=0.3),)), Labels(length_bias=1.0)])
def test_of_other_labels_no_step_is_better(labels: Labels):
    pairs = World(dim=3, truth="quadratic").compare(labels, 400)
    d, share = pairs.a.x - pairs.b.x, np.full(400, 1 / 400)
    best = bt_optimum(d, pairs.probability)
    assert d.T @ (sigmoid(d @ best) - pairs.probability) / 400 == pytest.approx(np.zeros(3), abs=1e-9)
    least = bt_loss(best, d, pairs.probability, share)
    for step in 0.05 * np.random.default_rng(0).normal(size=(10, 3)):
        assert bt_loss(best + step, d, pairs.probability, share) > least


def test_weights_stand_for_repeated_pairs():
    d, p = np.array([[1.0, 0.0], [0.5, 1.0], [-1.0, 1.0]]), np.array([0.8, 0.4, 0.3])
    repeated = bt_optimum(d[[0, 1, 1, 2]], p[[0, 1, 1, 2]])
    assert bt_optimum(d, p, np.array([1.0, 2.0, 1.0])) == pytest.approx(repeated)


def test_without_a_best_it_says_so_and_a_ridge_helps():
    certain = np.array([[1.0], [2.0]]), np.array([1.0, 1.0])
    with pytest.raises(ValueError, match="ridge > 0"):
        bt_optimum(*certain)
    assert 0 < float(bt_optimum(*certain, ridge=0.1)[0]) < 10
    with pytest.raises(ValueError, match="do not differ along some direction"):
        bt_optimum(np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([0.6, 0.7]))
