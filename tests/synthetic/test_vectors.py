"""Vector items: scales, links, views and pairs are what they are said to be, and the same every time."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
import torch

from guerdon.synthetic.labels import Labellers, Labels
from guerdon.synthetic.vectors import Truth, World


@pytest.mark.parametrize("truth", get_args(Truth))
def test_quality_has_mean_0_and_variance_1(truth: Truth):
    quality = World(dim=5, truth=truth, seed=3).items(40_000).traits.quality
    assert (quality.mean(), quality.std()) == (pytest.approx(0, abs=0.03), pytest.approx(1, abs=0.05))


@pytest.mark.parametrize("truth", get_args(Truth))
def test_equal_settings_give_equal_numbers(truth: Truth):
    one, other = (World(dim=3, truth=truth, seed=1).compare(Labels(), 20, seed=2) for _ in range(2))
    assert (one.a.x == other.a.x).all()
    assert (one.drawn.outcome == other.drawn.outcome).all()
    fresh = World(dim=3, truth=truth, seed=1).compare(Labels(), 20, seed=3)
    assert not (one.a.x == fresh.a.x).any()


def test_a_truth_can_be_asked_again():
    world = World(dim=3, truth="tanh")
    items = world.items(10)
    assert world.quality(items.x) == pytest.approx(items.traits.quality)
    linear = World(dim=3)
    assert linear.quality(np.eye(3)) == pytest.approx(linear.weights)


@pytest.mark.parametrize("link", [-0.5, 0.0, 0.8])
def test_length_goes_with_quality_as_asked(link: float):
    traits = World(length_link=link).items(40_000).traits
    assert np.corrcoef(traits.length, traits.quality)[0, 1] == pytest.approx(link, abs=0.02)
    assert traits.length.std() == pytest.approx(1, abs=0.02)


def test_two_views_depart_from_the_truth_in_opposite_ways():
    traits = World(groups=2, spread=1.5).items(30_000).traits
    assert traits.views.mean(0) == pytest.approx(traits.quality)
    assert (traits.views[0] - traits.quality).std() == pytest.approx(1.5, abs=0.05)
    assert (World().items(5).traits.views == World().items(5).traits.quality).all()


def test_tensors_put_the_chosen_first():
    pairs = World(dim=2, groups=2).compare(Labels((Labellers(0.6), Labellers(0.4)), ties=0.5), 200)
    with pytest.raises(ValueError, match="there are ties"):
        pairs.tensors()
    untied = pairs.untied
    assert 0 < len(untied) < 200
    found = untied.tensors()
    assert found["chosen"].shape == found["rejected"].shape == (len(untied), 2)
    first = untied.drawn.outcome == 1
    assert found["chosen"][first].numpy() == pytest.approx(untied.a.x[first], abs=1e-6)
    assert found["chosen"][~first].numpy() == pytest.approx(untied.b.x[~first], abs=1e-6)
    assert found["probability"][~first].numpy() == pytest.approx(1 - untied.probability[~first], abs=1e-6)
    assert found["group"].dtype == torch.int64
    assert set(found["group"].tolist()) == {0, 1}


def test_mixed_features_hide_both():
    world = World(dim=3)
    items = world.items(100)
    assert world.mixed(items, 7).shape == (100, 7)
    assert (world.mixed(items, 7) == world.mixed(items, 7)).all()
    assert np.abs(world.mixed(items, 7)).max() < 1


@pytest.mark.parametrize("settings", [{"truth": "cubic"}, {"dim": 0}, {"groups": 0}, {"length_link": 2.0}])
def test_no_world_is_made_of_what_is_out_of_range(settings):
    with pytest.raises(ValueError, match=f"{next(iter(settings))} is|expected 1 or more of each"):
        World(**settings)
