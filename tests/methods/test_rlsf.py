"""RLSF: which pairs there are, what they weigh, and beams of a real sampler scored by its own probabilities."""

from __future__ import annotations

import asyncio
import math

import numpy as np
import pytest
import torch

from guerdon.chat import Chat
from guerdon.losses.reward_model import bradley_terry
from guerdon.method import Term
from guerdon.methods import rlsf as rlsf_file
from guerdon.methods.rlsf import Confident, RankedDPO, as_row, pair_mean, preferences, rlsf
from guerdon.recipes import make_run
from guerdon.rewards.base import PerEpisode
from guerdon.rollouts.base import Context
from guerdon.rollouts.beams import CONFIDENCE, Beams
from guerdon.samplers.base import Sampling
from guerdon.types import Episode, Score, Span, Task
from tests.batches import make_batch, total
from tests.invariants.world import END, Letters, build


def group(confidences, texts=None):
    said = texts or [f"beam {i}" for i in range(len(confidences))]
    spans = [[Span(np.array([1])), Span(np.array([3]), np.zeros(1), 0, message={"content": text})] for text in said]
    return [Episode(Task("t", "q"), s, {CONFIDENCE: Score(c)}) for s, c in zip(spans, confidences, strict=True)]


def places(beams, tau):
    numbers = {id(one): i for i, one in enumerate(beams)}
    return [(numbers[id(p.chosen)], numbers[id(p.rejected)]) for p in preferences(beams, tau)]


def test_every_ordered_pair_whose_better_beam_is_sure():
    beams = group([0.95, 0.92, 0.5])
    assert places(beams, 0.9) == [(0, 1), (0, 2), (1, 2)]
    assert places(beams, 0.93) == [(0, 1), (0, 2)]
    assert places(group([0.95] * 3), 0.9) == []


def test_margins_of_a_reward_model():
    (pair,) = preferences(group([0.9, 0.5]), 0.9)
    assert pair.margin == pytest.approx(1.4918247)
    d = torch.tensor(1.0)
    assert float(bradley_terry(d, pair.margin)) == pytest.approx(0.9689960, abs=1e-6)
    assert float(bradley_terry(d)) == pytest.approx(0.3132617, abs=1e-6)
    assert as_row(pair) == {"prompt": "q", "chosen": "beam 0", "rejected": "beam 1", "margin": pair.margin}


def test_groups_without_a_pair_and_beams_without_a_word_are_dropped():
    assert Confident(0.9)(group([0.8, 0.2])) is None
    assert Confident(0.9)(group([0.95, 0.2], ["", "b"])) is None
    kept = Confident(0.9)(group([0.95, 0.2, 0.1], ["a", " ", "c"]))
    assert kept is not None
    assert [one.reply for one in kept] == ["a", "c"]


def batch_of(confidences, groups):
    n = len(confidences)
    return make_batch(confidences, groups=groups, ref=[[-1.0, -2.0]] * n)


def loss(batch, out, **settings):
    objective = RankedDPO(**settings)
    return total(Term(objective, pair_mean(objective.tau)), out, batch)


def test_at_the_start_every_pair_costs_ln_2():
    batch = batch_of([0.95, 0.92, 0.5, 0.9, 0.1], [0, 0, 0, 1, 1])
    assert float(loss(batch, {"logp": batch.stream("ref")})) == pytest.approx(math.log(2))


def test_it_is_the_mean_over_all_pairs_of_the_batch():
    c, h = [0.95, 0.92, 0.5, 0.9, 0.1], [0.3, -0.2, 0.7, -1.0, 0.4]
    batch = batch_of(c, [0, 0, 0, 1, 1])
    logp = batch.stream("ref") + torch.tensor(h).repeat_interleave(2) / 2
    pairs = [(0, 1), (0, 2), (1, 2), (3, 4)]
    expected = sum(math.log1p(math.exp(-0.2 * (h[i] - h[j]))) for i, j in pairs) / 4
    assert float(loss(batch, {"logp": logp})) == pytest.approx(expected, abs=1e-6)


def test_without_pairs_there_is_neither_loss_nor_gradient():
    batch = batch_of([0.5, 0.2], [0, 0])
    logp = batch.stream("ref").clone().requires_grad_()
    found = loss(batch, {"logp": logp})
    found.backward()
    assert float(found.detach()) == 0
    assert torch.equal(logp.grad, torch.zeros_like(logp))


# --- beams -----------------------------------------------------------------------------------------------------------


class Cued(Letters):
    """Letters that can be written too."""

    bos_token_id = None

    def decode(self, ids, skip_special_tokens=True, clean_up_tokenization_spaces=False):
        return super().decode(ids)

    def __call__(self, text, add_special_tokens=True, verbose=True):
        return {"input_ids": [ord(letter) - 97 for letter in text]}


def grown(n=4, max_tokens=6, cue="de", **settings):
    world = build(rlsf_file)
    context = Context(
        {"policy": world.sampler},
        Chat(Cued(), template=False),
        Sampling(max_tokens=max_tokens, stop_tokens=(END,)),
        n,
        7,
    )
    beams = Beams(cue=cue, answer_tokens=3, **settings)
    return world, asyncio.run(beams(Task("t", [1, 5, 4]), context))


def probabilities(world, ids):
    with torch.no_grad():
        return world.sampler.module(torch.tensor([ids])).logits[0].softmax(-1)


def test_beams_branch_at_the_likeliest_first_tokens_and_go_on_greedily():
    world, group = grown()
    start = probabilities(world, [1, 5, 4])[-1]
    assert [int(one.spans[1].tokens[0]) for one in group] == start.topk(4).indices.tolist()
    for one in group:
        tokens = one.spans[1].tokens.tolist()
        after = probabilities(world, [1, 5, 4, *tokens])[2:]
        assert tokens[1:] == after[1:-1].argmax(-1).tolist()[: len(tokens) - 1]
        assert len(tokens) <= 6
        assert one.stop == ("stop" if tokens[-1] == END else "length")


def test_confidence_is_of_the_models_own_probabilities_at_the_answer():
    from guerdon.rewards.intrinsic import answer_span

    world, group = grown()
    scores = []
    for one in group:
        tokens = one.spans[1].tokens.tolist()
        chances = probabilities(world, [1, 5, 4, *tokens])[2:-1]
        second = chances.topk(2, -1).values[:, 1]
        sure = chances[range(len(tokens)), tokens] - second
        said = [token for token in tokens if token != END]
        asked = [1, 5, 4, *said, 3, 4]
        for _ in range(3):
            asked.append(int(probabilities(world, asked)[-1].argmax()))
            if asked[-1] == END:
                break
        span = answer_span(tokens, asked[5 + len(said) :], {0, 1, 2})
        scores.append(float(sure[span].mean()) if span else 0.0)
    assert [one.scores[CONFIDENCE].value for one in group] == pytest.approx(scores, abs=1e-5)
    assert any(scores)


def test_without_a_cue_the_whole_reply_is_the_answer():
    world, group = grown(cue="")
    for one in group:
        tokens = one.spans[1].tokens.tolist()
        chances = probabilities(world, [1, 5, 4, *tokens])[2:-1]
        sure = chances[range(len(tokens)), tokens] - chances.topk(2, -1).values[:, 1]
        said = [place for place, token in enumerate(tokens) if token > 2]
        expected = float(sure[said].mean()) if said else 0.0
        assert one.scores[CONFIDENCE].value == pytest.approx(expected, abs=1e-5)
        assert one.scores[CONFIDENCE].parts["answer_tokens"] == len(said)


def test_a_beam_of_one_token_and_a_role_that_is_not_there():
    _, group = grown(n=2, max_tokens=1)
    assert [len(one.spans[1].tokens) for one in group] == [1, 1]
    with pytest.raises(KeyError, match=r"'ref'.*frozen=False"):
        grown(role="ref")


def test_it_learns_from_its_own_confidence_and_from_no_reward():
    method = rlsf(frozen=False, tau=-1.0, cue="de")
    world = build(rlsf_file, method)
    watched = PerEpisode("right", lambda episode: float("h" in episode.reply), weight=0.0)
    source = world.source([watched], chat=Chat(Cued(), template=False), n=3)
    steps = world.train(source, 2)
    assert all(step["faults"] == 0 for step in steps)
    assert steps[0]["loss/preference"] == pytest.approx(math.log(2), abs=1e-5)
    assert steps[1]["loss/preference"] != pytest.approx(math.log(2), abs=1e-5)
    assert all(1 <= step["preference/pairs"] <= 3 for step in steps)
    assert {"reward/right", "reward/confidence"} <= set(steps[0])


def test_the_recipe_watches_the_tasks_reward_and_learns_from_none():
    run = make_run("rlsf", {})
    assert [(reward.name, reward.weight) for reward in run.scoring][1:] == [(CONFIDENCE, 1.0)]
    assert run.scoring[0].weight == 0.0
    assert run.options.samples_per_prompt == 5
    assert run.method.rollout == Beams("ref")
    assert rlsf(frozen=False).rollout == Beams("policy")
