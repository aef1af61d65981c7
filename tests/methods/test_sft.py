"""Supervised fine-tuning: which tokens are learned, that documents do not see each other, and that it learns."""

import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.chat import Chat
from guerdon.collate import collate
from guerdon.likelihoods.packing import layout
from guerdon.methods import sft as sft_file
from guerdon.methods.sft import sft
from guerdon.parts import load_parts
from guerdon.recipes import make_run
from guerdon.recipes.data import demonstration
from guerdon.types import Episode, Span, Task
from tests.invariants.world import build, distance, gradients
from tests.models.small import saved, tokenizer

CHAT = Chat(tokenizer())


def text(length, first):
    """A document of `length` learned tokens after one that is given."""
    ids = [1, *(3 + (first + i) % 12 for i in range(length))]
    return Episode(Task(str(first), ""), [Span(ids[:1]), Span(ids[1:], [0.0] * length, parent=0)])


def skewed():
    """Many short documents and a few long ones, each a group of its own."""
    return [[text(n, i)] for i, n in enumerate([2, 40, 3, 2, 5, 31, 1, 2, 4, 3, 2, 17, 1, 2])]


def together(world, groups, tokens):
    engine = world.learner.engines["policy"]
    engine.tokens_per_micro_batch = tokens
    engine.forward_backward(world.learner.prepare("policy", collate(groups)), world.method.terms)
    return gradients(engine)


def alone(world, groups):
    """The gradient of the same mean over tokens, one document in the model at a time: nothing packed or padded."""
    module = world.learner.engines["policy"].module
    total = sum(episode.sampled_tokens for group in groups for episode in group)
    for group in groups:
        for episode in group:
            ids = torch.tensor([int(t) for span in episode.spans for t in span.tokens])
            learned = torch.tensor([span.sampled for span in episode.spans for _ in span.tokens])
            logp = module(ids[None]).logits[0, :-1].log_softmax(-1).gather(1, ids[1:, None])[:, 0]
            (-(logp * learned[1:]).sum() / total).backward()
    return gradients(world.learner.engines["policy"])


@pytest.mark.parametrize("tokens", [1, 64, 10_000], ids=str)
def test_packed_and_unpacked_gradients_are_equal(tokens):
    world = build(sft_file)
    packed, unpacked = together(world, skewed(), tokens), alone(world, skewed())
    assert distance(packed, unpacked) < 1e-6


def test_replies_that_share_a_prompt_share_a_row_and_see_their_own_path_alone():
    world = build(sft_file)
    group = [
        Episode(Task("a", ""), [Span([1, 5, 6]), Span(ids, [0.0] * len(ids), parent=0)])
        for ids in ([7, 8], [9], [7, 3, 4, 5])
    ]
    rows = layout(collate([group]))
    assert rows.tokens.shape == (1, 3 + 7)
    assert distance(together(world, [group], 64), alone(world, [group])) < 1e-6


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(1, 12), min_size=2, max_size=6), st.integers(0, 5))
def test_no_document_reads_another(lengths, changed):
    """Other tokens in one document change no log-probability of the others."""
    world = build(sft_file)
    groups = [[text(n, i)] for i, n in enumerate(lengths)]
    changed %= len(groups)
    other = [*groups[:changed], [text(lengths[changed], 7 + changed)], *groups[changed + 1 :]]
    first, second = (world.learner.engines["policy"].forward(collate(gs), ("logp",))["logp"] for gs in (groups, other))
    kept = collate(groups).group != changed
    torch.testing.assert_close(first[kept], second[kept], atol=1e-6, rtol=0)


def test_only_what_the_assistant_says_is_learned_of_a_row_or_a_conversation():
    conversation = [("user", "1="), ("assistant", "1"), ("user", "2="), ("assistant", "2")]
    rows = [
        {"prompt": "1+2=", "completion": "3"},
        {"messages": [{"role": role, "content": text} for role, text in conversation]},
    ]
    batch = collate([demonstration(row, CHAT, str(i)) for i, row in enumerate(rows)])
    loss = sft().terms[0].objective({"logp": torch.full((len(batch),), -2.0)}, batch)
    assert (loss > 0).tolist() == batch.mask.tolist()
    learned = [CHAT.decode_all(batch.inputs["tokens"][(batch.seq == i) & batch.mask].tolist()) for i in range(2)]
    assert learned == ["3<end>", "1<end>2<end>"]


def recipe(tmp_path, **arguments):
    file = tmp_path / "rows.jsonl"
    rows = [{"prompt": f"{i}+1=", "completion": str(i + 1)} for i in range(9)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return make_run("sft", {"data": str(file), "prompts_per_step": 4, **arguments})


@pytest.mark.parametrize(("passes", "steps"), [(1.0, 3), (2.0, 5), (0.1, 1)], ids=str)
def test_passes_over_the_rows_are_a_budget_too(tmp_path, passes, steps):
    assert recipe(tmp_path, passes=passes).options.steps == steps


def test_a_budget_is_given_once(tmp_path):
    assert recipe(tmp_path).options.steps == 150
    assert recipe(tmp_path, steps=7).options.steps == 7
    with pytest.raises(ValueError, match=r"steps \(3\) and passes \(2\)"):
        recipe(tmp_path, passes=2.0, steps=3)
    with pytest.raises(ValueError, match="passes is 0; expected more than 0"):
        recipe(tmp_path, passes=0.0)


def test_adapters_alone_are_trained_with_lora(tmp_path):
    run = recipe(tmp_path, steps=1, model=str(saved(tmp_path / "model")), lora_rank=2)
    module = load_parts(run).engines["policy"].module
    trained = [name for name, parameter in module.named_parameters() if parameter.requires_grad]
    assert trained
    assert all("lora_" in name for name in trained)
