"""What frozen models said is said again without asking them, and only of what comes again."""

from __future__ import annotations

import asyncio

import torch

from guerdon.methods import dpo as dpo_file
from guerdon.methods import online_dpo as online_file
from guerdon.recall import Recall
from guerdon.sources import Dataset
from tests.batches import make_batch
from tests.invariants.world import build


class Counting:
    """A model that says a token's id, and counts the sequences that it was asked about."""

    def __init__(self):
        self.asked = 0

    def __call__(self, batch):
        self.asked += len(batch.seq.unique())
        return torch.where(batch.mask, batch.inputs["tokens"].float(), 0.0)


def written(*rows, **streams):
    masks = [[0] + [1] * (len(row) - 1) for row in rows]
    return make_batch(groups=list(range(len(rows))), masks=masks, tokens=rows, **streams)


def test_a_model_is_asked_once_about_a_text():
    recall, model = Recall(), Counting()
    first = written([5, 6, 7], [5, 8])
    assert recall("ref", first, model).tolist() == [0, 6, 7, 0, 8]
    assert recall("ref", written([5, 8], [9, 3, 2], [5, 6, 7]), model).tolist() == [0, 8, 0, 3, 2, 0, 6, 7]
    assert model.asked == 3
    assert recall("ref", first, model).tolist() == [0, 6, 7, 0, 8]
    assert model.asked == 3


def test_another_role_another_mask_and_another_temperature_are_other_questions():
    recall, model = Recall(), Counting()
    recall("ref", written([5, 6, 7]), model)
    recall("other", written([5, 6, 7]), model)
    recall("ref", make_batch(masks=[[0, 0, 1]], tokens=[[5, 6, 7]]), model)
    recall("ref", written([5, 6, 7], temperature=[[1.0, 0.5, 0.5]]), model)
    assert model.asked == 4


def test_what_was_sampled_is_never_kept():
    recall, model = Recall(), Counting()
    sampled = written([5, 6], [5, 7], behavior=[[0.0, -1.0], [0.0, 0.0]])
    for _ in range(2):
        assert recall("ref", sampled, model).tolist() == [0, 6, 0, 7]
    assert model.asked == 3
    assert recall.tokens == 1


def test_beyond_the_limit_nothing_is_added_and_all_is_still_said():
    recall, model = Recall(limit=3), Counting()
    rows = written([5, 6, 7], [5, 8, 9], [5, 4])
    for _ in range(2):
        assert recall("ref", rows, model).tolist() == [0, 6, 7, 0, 8, 9, 0, 4]
    assert model.asked == 4
    assert recall.tokens == 3


def test_it_is_written_down_and_restored():
    one, other, model = Recall(), Recall(), Counting()
    rows = written([5, 6, 7], [5, 8])
    one("ref", rows, model)
    other.restore(one.state())
    assert other("ref", rows, model).tolist() == [0, 6, 7, 0, 8]
    assert model.asked == 2
    assert other.tokens == one.tokens == 3


def passes(world, groups, number):
    """Three passes over pairs, as a data set of half a pass a step."""

    async def go():
        async with Dataset(groups, batch=len(groups) // 2) as source:
            for _ in range(2 * number):
                data = await source.take(world.learner.version)
                await world.learner.update(data.groups)

    asyncio.run(go())
    return {name: p.detach().clone() for name, p in world.learner.engines["policy"].module.named_parameters()}


def test_three_passes_put_each_pair_to_the_reference_once_and_learn_the_same():
    plain, kept = build(dpo_file), build(dpo_file)
    plain.learner.recall.limit = 0
    asked = {}
    for name, world in (("plain", plain), ("kept", kept)):
        engine, asked[name] = world.learner.engines["ref"], 0

        def forward(batch, wants, engine=engine, name=name, ask=engine.forward):
            asked[name] += len(batch.seq.unique())
            return ask(batch, wants)

        engine.forward = forward
    groups = plain.groups(number=4)
    found, expected = passes(kept, groups, 3), passes(plain, groups, 3)
    assert asked == {"plain": 24, "kept": 8}
    for name in expected:
        torch.testing.assert_close(found[name], expected[name], atol=1e-5, rtol=1e-4)


def test_a_resumed_learner_recalls_to_the_last_bit(tmp_path):
    """Asked again in other company a reference may differ in its last bits; so what it said is in the checkpoint."""
    one, other = build(dpo_file), build(dpo_file)
    groups = one.groups(number=4)
    one.update(groups)
    one.learner.save(tmp_path)
    other.learner.restore(tmp_path)
    for world in (one, other):
        world.update(groups[:1])
        world.update(groups[1:])
    mine, theirs = (w.learner.engines["policy"].module.state_dict() for w in (one, other))
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    assert set(other.learner.recall.kept) == set(one.learner.recall.kept)


def test_a_reference_that_follows_the_policy_is_always_asked():
    world = build(online_file, online_file.online_dpo(refresh=1))
    world.update(world.groups())
    assert not world.learner.recall.kept
