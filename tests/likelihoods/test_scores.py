"""Scores read at the tokens of replies: what transformers itself says, however a batch is laid out."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from guerdon.advantages.segments import paths
from guerdon.collate import collate
from guerdon.engines.local import LocalEngine, Optim
from guerdon.likelihoods import states
from guerdon.likelihoods.scores import Scores
from guerdon.losses.reward_model import BradleyTerry, at_last
from guerdon.method import Heads, Term
from guerdon.models.load import Policy
from guerdon.models.lora import Lora
from guerdon.models.reward import head_of, names_of, save, with_heads
from guerdon.reduce import group_mean
from guerdon.types import Episode, Pair, Span, Task
from tests.models.small import tokenizer
from tests.samplers.conftest import tiny_model

FAMILIES = ("llama", "qwen2", "qwen2_sliding", "mistral", "qwen3", "gemma3", "gpt2", "gpt_neox")
HEADS = Heads(("good", "kind"))


def reward_model(family: str = "llama", heads: Heads = HEADS, **changes) -> Policy:
    return with_heads(Policy(copy.deepcopy(tiny_model(family)).eval(), tokenizer(), family, ""), heads, **changes)


def groups(number: int = 3, length: int = 6):
    """Pairs of replies of several lengths to prompts of several lengths."""
    numbers = np.random.default_rng(0)
    made = []
    for g in range(number):
        prompt = numbers.integers(3, 29, 2 + 3 * g)
        replies = [numbers.integers(3, 29, 1 + (length + 5 * g + 2 * i) % 7) for i in range(2)]
        made.append(Pair(*(episode(prompt, ids) for ids in replies)).group())
    return made


def episode(prompt, said) -> Episode:
    return Episode(Task("t", ""), [Span(prompt), Span(said, np.zeros(len(said)), parent=0)])


def read(model: Policy, made, head: str = "kind", tokens: int = 4096):
    batch = collate(made)
    engine = LocalEngine(model.module, Scores(HEADS), None, tokens)
    return at_last(paths(batch).sequences, engine.forward(batch, (head,))[head], batch.mask)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("family", FAMILIES)
def test_they_are_what_plain_transformers_says_of_the_saved_folder(family, side, tmp_path):
    from transformers import AutoModelForSequenceClassification

    model = reward_model(family)
    save(model, HEADS, tmp_path)
    plain = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    assert plain.config.id2label == {0: "good", 1: "kind"}
    made = groups()
    texts = [np.concatenate([span.tokens for span in one.spans]) for group in made for one in group]
    longest = max(map(len, texts))
    ids = torch.full((len(texts), longest), int(plain.config.pad_token_id))
    seen = torch.zeros_like(ids)
    for row, text in enumerate(texts):
        place = slice(longest - len(text), None) if side == "left" else slice(len(text))
        ids[row, place], seen[row, place] = torch.from_numpy(text), 1
    with torch.no_grad():
        expected = plain(input_ids=ids, attention_mask=seen, position_ids=(seen.cumsum(1) - 1).clamp(min=0)).logits
    for i, head in enumerate(HEADS.names):
        torch.testing.assert_close(read(model, made, head), expected[:, i], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("family", ["llama", "gemma3", "gpt2"])
def test_layout_padding_and_cuts_change_neither_scores_nor_gradient(family, monkeypatch):
    made, terms = groups(4), [Term(BradleyTerry("good"), group_mean), Term(BradleyTerry("kind"), group_mean)]
    model = reward_model(family)
    model.module.requires_grad_(True)
    engine = LocalEngine(model.module, Scores(HEADS), Optim(lr=1e-2), 4096)

    def gradient():
        engine.forward_backward(collate(made), terms)
        found = {n: p.grad.clone() for n, p in model.module.named_parameters() if p.grad is not None}
        model.module.zero_grad(set_to_none=True)
        return found

    scores, whole = read(model, made), gradient()
    assert float(whole["score.weight"].abs().max()) > 1e-3
    plain = states.layout
    monkeypatch.setattr(states.stack, "find", lambda trunk: None)
    for row_tokens, tokens in ((1024, 16), (1, 4096), (12, 24)):
        monkeypatch.setattr(states, "layout", lambda batch, rows=row_tokens: plain(batch, pad=7, row_tokens=rows))
        engine.tokens_per_micro_batch = tokens
        torch.testing.assert_close(read(model, made, tokens=tokens), scores, atol=1e-4, rtol=1e-4)
        for name, grad in gradient().items():
            scale = float(whole[name].abs().max()) + 1e-4
            torch.testing.assert_close(grad / scale, whole[name] / scale, atol=2e-4, rtol=0)


def test_what_stands_after_the_last_token_of_the_reply_is_not_seen():
    (group,) = groups(1)
    longer = [Episode(e.task, [*e.spans, Span(np.array([9, 8]), parent=1)], e.scores) for e in group]
    model = reward_model()
    torch.testing.assert_close(read(model, [group]), read(model, [longer]))


def test_in_half_precision_the_head_is_in_full():
    model = reward_model()
    half = with_heads(Policy(copy.deepcopy(tiny_model()).bfloat16().eval(), tokenizer(), "", ""), HEADS)
    assert head_of(half.module).weight.dtype is torch.float32
    assert half.module.dtype is torch.bfloat16
    found = read(half, groups())
    assert len(set((found * 4096).tolist())) == len(found)
    assert not torch.equal(found, found.bfloat16().float()), "scores have more digits than half precision has"
    torch.testing.assert_close(found, read(model, groups()), atol=0.3, rtol=0.1)


@pytest.mark.parametrize("form", ["plain", "adapters", "frozen", "checkpointed", "bfloat16"])
@pytest.mark.parametrize("family", ["llama", "gemma3", "gpt2", "gpt_neox"])
def test_an_update_moves_what_is_trained_and_nothing_else(family, form):
    heads = Heads(("score",), frozen_trunk=form == "frozen")
    lora = Lora(rank=2, alpha=4) if form == "adapters" else None
    trunk = copy.deepcopy(tiny_model(family)).eval()
    trunk = trunk.bfloat16() if form == "bfloat16" else trunk
    model = with_heads(Policy(trunk, tokenizer(), family, ""), heads, lora=lora)
    if form == "checkpointed":
        model.module.activation_checkpointing_enable({"use_reentrant": False})
        model.module.train()
    engine = LocalEngine(model.module, Scores(heads), Optim(lr=1e-2))
    before = {n: p.detach().clone() for n, p in model.module.named_parameters()}
    engine.forward_backward(collate(groups()), [Term(BradleyTerry(), group_mean)])
    engine.step()
    moved = {n for n, p in model.module.named_parameters() if not torch.equal(before[n], p)}
    assert any("score" in name for name in moved)
    assert moved <= {n for n, p in model.module.named_parameters() if p.requires_grad}
    if form == "frozen":
        assert moved == {"score.weight"}
    if form == "adapters":
        assert all("lora_" in name or "score.modules_to_save" in name for name in moved)
        assert any("lora_" in name for name in moved)
    if form in ("plain", "checkpointed", "bfloat16"):
        assert len(moved) > 5


def test_checkpointing_leaves_the_gradient_as_it_is():
    found = []
    for form in ("plain", "checkpointed"):
        model = reward_model()
        if form == "checkpointed":
            model.module.activation_checkpointing_enable({"use_reentrant": False})
            model.module.train()
        LocalEngine(model.module, Scores(HEADS), Optim()).forward_backward(
            collate(groups()), [Term(BradleyTerry("good"), group_mean)]
        )
        found.append({n: p.grad for n, p in model.module.named_parameters() if p.grad is not None})
    for name, grad in found[0].items():
        torch.testing.assert_close(grad, found[1][name], atol=1e-5, rtol=1e-4)


def test_an_unknown_head_is_named():
    with pytest.raises(KeyError, match="bad"):
        read(reward_model(), groups(), head="bad")
    assert names_of(reward_model().module) == ("good", "kind")
