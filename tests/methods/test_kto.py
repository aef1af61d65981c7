"""Mismatched completions, and KTO on rows that are labelled."""

import asyncio
import json

import pytest
import torch

from guerdon.chat import Chat
from guerdon.collate import collate
from guerdon.methods import kto as kto_file
from guerdon.methods.kto import kto, with_mismatched
from guerdon.parts import load_parts, make_source
from guerdon.recipes import make_run
from guerdon.recipes.data import groups, labelled
from tests.invariants.world import build, gradients
from tests.models.small import saved, tokenizer

CHAT = Chat(tokenizer())


def rows(tmp_path, *triples):
    file = tmp_path / "labelled.jsonl"
    named = [dict(zip(("prompt", "completion", "label"), triple, strict=True)) for triple in triples]
    file.write_text("".join(json.dumps(row) + "\n" for row in named))
    return str(file)


def said(episode):
    prompt = "".join(CHAT.decode(span.tokens) for span in episode.spans if not span.sampled)
    return prompt, "".join(CHAT.decode(span.tokens) for span in episode.spans if span.sampled)


TWO_EACH = [(f"{p}+1=", str(p + i), i == 1) for p in range(4) for i in range(2)]


def test_each_row_has_a_completion_of_another_prompt_beside_it(tmp_path):
    own = groups(rows(tmp_path, *TWO_EACH), labelled, CHAT)
    made = with_mismatched(own)
    assert [group[0] for group in made] == [group[0] for group in own]
    by_id = {episode.task.id: said(episode) for (episode,) in own}
    for mine, stray in made:
        lender = by_id[stray.notes["mismatched"]]
        assert lender[0] != said(mine)[0]
        assert said(stray) == (said(mine)[0], lender[1])
        assert not stray.scores
        assert [span.parent for span in stray.spans] == [-1, 0]
    assert [said(s) for _, s in with_mismatched(own)] == [said(s) for _, s in made]
    assert [said(s) for _, s in with_mismatched(own, seed=1)] != [said(s) for _, s in made]


def test_rows_of_one_prompt_have_no_anchor(tmp_path):
    own = groups(rows(tmp_path, ("1+1=", "2", True), ("1+1=", "3", False)), labelled, CHAT)
    with pytest.raises(ValueError, match="same prompt"):
        with_mismatched(own)


def test_labels_are_returns(tmp_path):
    own = groups(rows(tmp_path, ("1+1=", "2", True), ("1+2=", "4", False)), labelled, CHAT)
    batch = collate(with_mismatched(own))
    returns = torch.zeros(4).index_add(0, batch.seq, batch.reward)
    assert returns.tolist() == [1.0, 0.0, -1.0, 0.0]
    assert batch.stream("mismatched")[batch.seq % 2 == 0].max() == 0


def test_mismatched_completions_move_the_anchor_and_nothing_else():
    world = build(kto_file)
    pairs = world.groups()
    batch = world.learner.prepare("policy", collate(pairs))
    engine = world.learner.engines["policy"]
    engine.forward_backward(batch, world.method.terms)
    with_strays = gradients(engine)
    own = batch.select(batch.seq % 2 == 0)
    engine.forward_backward(own, world.method.terms)
    for name, gradient in gradients(engine).items():
        torch.testing.assert_close(gradient, with_strays[name], atol=1e-6, rtol=1e-5)


def test_good_completions_become_likelier_and_bad_ones_less_likely():
    world = build(kto_file, kto(beta=0.5))
    pairs = world.groups()

    def likelihoods():
        batch = collate(pairs)
        logp = world.learner.engines["policy"].forward(batch, ("logp",))["logp"]
        sums = torch.zeros(2 * len(pairs)).index_add(0, batch.seq, logp)
        returns = torch.zeros(2 * len(pairs)).index_add(0, batch.seq, batch.reward)
        return sums[returns > 0], sums[returns < 0]

    before = likelihoods()
    for _ in range(10):
        world.update(pairs)
    after = likelihoods()
    assert (after[0] > before[0]).all()
    assert (after[1] < before[1]).all()


def test_a_recipe_learns_labelled_rows(tmp_path):
    file = rows(tmp_path, *TWO_EACH)
    run = make_run("kto", {"data": file, "model": str(saved(tmp_path / "model")), "prompts_per_step": 4, "passes": 1.0})
    assert run.options.steps == 2
    assert run.measure is None
    parts = load_parts(run)
    data = asyncio.run(make_source(parts).take(0))
    assert [len(group) for group in data.groups] == [2] * 4


def test_a_recipe_may_be_evaluated_on_a_file_of_pairs(tmp_path):
    heldout = tmp_path / "pairs.jsonl"
    heldout.write_text(json.dumps({"prompt": "1+1=", "chosen": "2", "rejected": "3"}) + "\n")
    file = rows(tmp_path, *TWO_EACH)
    model = str(saved(tmp_path / "model"))
    run = make_run("kto", {"data": file, "model": model, "heldout": str(heldout), "steps": 1})
    measure = run.measure(load_parts(run))
    assert len(measure().groups) == 1
