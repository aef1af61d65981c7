"""Pairs of the policy's own completions: which two, when none, and that it learns from them."""

import pytest
import torch

from guerdon.collate import collate
from guerdon.keys import keys_of
from guerdon.methods import online_dpo as online_file
from guerdon.methods.online_dpo import Better, TwoOf, online_dpo
from guerdon.recipes import find_recipe, make_run
from guerdon.rewards.base import PerEpisode
from guerdon.sources import Starved
from guerdon.types import Score
from tests.invariants.world import build
from tests.replies import group


def scored(*values, name="r"):
    found = group([f"reply {i}" for i in range(len(values))])
    for episode, value in zip(found, values, strict=True):
        episode.scores[name] = Score(value)
    return found


def test_the_best_and_the_worst_make_the_pair():
    given = scored(0.2, 1.0, -0.5, 1.0, -0.5)
    assert TwoOf()(given) == [given[1], given[2]]


@pytest.mark.parametrize("pair", ["extremes", "random"])
def test_ties_make_no_pair(pair):
    assert TwoOf(pair)(scored(0.5, 0.5, 0.5 + 1e-9)) is None
    assert TwoOf(pair)(scored(0.5)) is None


def test_a_random_pair_differs_and_depends_on_the_samples_alone():
    given = scored(0.0, 1.0, 1.0, 0.0, 2.0)
    better, worse = TwoOf("random")(given)
    assert better.scores["r"].value > worse.scores["r"].value
    assert TwoOf("random")(given) == [better, worse]
    drawn = set()
    for first in range(30):
        other = scored(0.0, 1.0, 1.0, 0.0, 2.0)
        other[0].spans[0].tokens[0] = first
        pair = TwoOf("random")(other)
        drawn.add(tuple(int(other.index(one)) for one in pair))
    assert len(drawn) > 4
    assert all(first in (1, 2, 4) and second != 4 for first, second in drawn)


def test_rewards_count_by_their_weights():
    given = scored(0.0, 1.0)
    for episode, value in zip(given, (3.0, 0.0), strict=True):
        episode.scores["other"] = Score(value)
    assert TwoOf()(given) == [given[0], given[1]]
    assert TwoOf(weights={"other": 0.1})(given) == [given[1], given[0]]


def test_advantages_tell_the_better_from_the_worse():
    batch = Better()(collate([scored(1.0, 0.0), scored(0.0, 0.0)]))
    assert batch.advantage[batch.mask].tolist() == [1.0, -1.0, 0.0, 0.0]


@pytest.mark.slow
def test_it_earns_more_of_any_reward_than_at_its_start():
    world = build(online_file, online_dpo(beta=0.1))
    good = PerEpisode("good", lambda episode: episode.reply.count("h") / 6)
    returns = [step["reward/good"] for step in world.train(world.source([good], min_group=2), 20)]
    assert sum(returns[-4:]) / 4 > returns[0] + 0.15


def test_a_reward_that_never_varies_starves_it_by_name():
    world = build(online_file)
    constant = PerEpisode("constant", lambda episode: 1.0)
    with pytest.raises(Starved, match="TwoOf"):
        world.train(world.source([constant], patience=2), 1)


def test_an_iterated_reference_follows_the_policy():
    world = build(online_file, online_dpo(refresh=2))
    pairs = world.groups()
    start = {n: p.clone() for n, p in world.learner.engines["ref"].module.state_dict().items()}
    world.update(pairs)
    now = world.learner.engines["ref"].module.state_dict()
    assert all(torch.equal(start[n], now[n]) for n in start)
    world.update(pairs)
    now, policy = (world.learner.engines[role].module.state_dict() for role in ("ref", "policy"))
    assert all(torch.equal(policy[n], now[n]) for n in now)


def test_the_recipe_rolls_out_tasks_with_any_reward():
    run = make_run("online_dpo", {"reward": "numeric", "pair": "random", "samples_per_prompt": 2})
    assert run.source is None
    assert [type(f).__name__ for f in run.method.filters] == ["TwoOf"]
    assert {"level", "pair", "refresh", "beta", "tis_cap"} <= set(keys_of(find_recipe("online_dpo")))
    with pytest.raises(ValueError, match="at least 2"):
        make_run("online_dpo", {"samples_per_prompt": 1})
