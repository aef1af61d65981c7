"""Reward models on disk and in memory: heads by name, padding that ends nothing, adapters, and going on from one."""

from __future__ import annotations

import json

import pytest
import torch

from guerdon.method import Heads
from guerdon.models.heads import trunk_in
from guerdon.models.load import Policy, load_policy
from guerdon.models.lora import Lora
from guerdon.models.reward import (
    PAD,
    head_of,
    load_any,
    load_reward_model,
    names_of,
    save,
    weight_of,
    with_heads,
)
from tests.models.small import ids, model, saved, tokenizer

HEADS = Heads(("quality", "length"))


def policy(family: str = "llama", **special) -> Policy:
    return Policy(model(family), tokenizer(**special), family, "")


def scores(module, head: int = 0) -> torch.Tensor:
    with torch.no_grad():
        return module(input_ids=ids(), use_cache=False).logits[:, head].float()


def test_fresh_heads_are_drawn_by_the_seed_as_wide_as_is_usual():
    one, same, other = (with_heads(policy(), HEADS, seed).module for seed in (0, 0, 1))
    assert torch.equal(head_of(one).weight, head_of(same).weight)
    assert not torch.equal(head_of(one).weight, head_of(other).weight)
    wide = with_heads(policy(), Heads(tuple("abcdefghij")), 3).module
    assert float(head_of(wide).weight.std()) == pytest.approx(1 / 33**0.5, rel=0.15)


def test_the_trunk_is_the_policys_own_and_the_policy_is_left_alone():
    start = policy()
    before = {n: p.clone() for n, p in start.module.named_parameters()}
    made = with_heads(start, HEADS)
    for name, value in start.module.base_model.state_dict().items():
        assert torch.equal(trunk_in(made.module).state_dict()[name], value)
    assert all(torch.equal(before[n], p) for n, p in start.module.named_parameters())
    assert start.module.config.pad_token_id == 0


@pytest.mark.parametrize(
    ("special", "pad"),
    [
        ({}, "<pad>"),
        ({"pad_token": "<end>"}, "<unk>"),
        ({"pad_token": None}, "<unk>"),
        ({"pad_token": None, "unk_token": None}, PAD),
    ],
    ids=str,
)
def test_the_padding_token_is_no_end_token(special, pad, tmp_path):
    """transformers reads the last token that is no padding: an end token that pads would be passed by."""
    made = with_heads(policy(**special), HEADS)
    save(made, HEADS, tmp_path)
    again = load_reward_model(str(tmp_path))
    assert again.tokenizer.pad_token == pad
    assert again.module.config.pad_token_id == again.tokenizer.pad_token_id != again.tokenizer.eos_token_id
    text = torch.tensor([[5, 6, 1], [5, 6, 7]])  # 1 is the end token
    padded = torch.tensor([[5, 6, 1, again.tokenizer.pad_token_id]])
    with torch.no_grad():
        alone, beside = again.module(input_ids=text[:1]).logits, again.module(input_ids=text).logits
        longer = again.module(input_ids=padded, attention_mask=(padded != padded[0, -1]).long()).logits
    torch.testing.assert_close(alone[0], beside[0])
    torch.testing.assert_close(alone[0], longer[0])


def test_every_row_of_the_embedding_is_trained_that_of_the_padding_too():
    assert with_heads(policy(), HEADS).module.get_input_embeddings().padding_idx is None


@pytest.mark.parametrize("family", ["llama", "gpt2", "gpt_neox", "gemma3_text"])
def test_adapters_are_folded_in_on_saving(family, tmp_path):
    made = with_heads(policy(family), HEADS, lora=Lora(rank=2, alpha=8))
    numbers = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in made.module.named_parameters():
            if parameter.requires_grad:
                assert "lora_" in name or "score" in name
                parameter.add_(torch.randn(parameter.shape, generator=numbers) / 10)
    expected = scores(made.module)
    assert not torch.allclose(expected, scores(with_heads(policy(family), HEADS).module), atol=1e-2)
    save(made, HEADS, tmp_path)
    torch.testing.assert_close(scores(load_reward_model(str(tmp_path)).module), expected, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(scores(made.module), expected)


def test_a_unit_norm_head_is_saved_as_it_is_used(tmp_path):
    unit = Heads(HEADS.names, unit_norm=True)
    made = with_heads(policy(), unit)
    used = weight_of(made.module, unit).detach().clone()
    torch.testing.assert_close(used.norm(dim=1), torch.ones(2))
    torch.testing.assert_close(used.mean(1), torch.zeros(2), atol=1e-6, rtol=0)
    raw = head_of(made.module).weight.detach().clone()
    save(made, unit, tmp_path)
    torch.testing.assert_close(head_of(load_reward_model(str(tmp_path)).module).weight, used)
    assert torch.equal(head_of(made.module).weight, raw)


def test_half_precision_keeps_the_head_whole_on_disk_and_on_loading(tmp_path):
    start = policy()
    made = with_heads(Policy(start.module.bfloat16(), start.tokenizer, "", ""), HEADS)
    save(made, HEADS, tmp_path)
    again = load_reward_model(str(tmp_path), dtype="bfloat16")
    assert again.module.dtype is torch.bfloat16
    assert torch.equal(head_of(again.module).weight, head_of(made.module).weight)


def test_a_run_that_finds_a_reward_model_goes_on_from_it(tmp_path):
    made = with_heads(policy(), HEADS, seed=5)
    save(made, HEADS, tmp_path / "rm")
    start = load_any(str(tmp_path / "rm"), dtype="float32", device="cpu", end_token=None)
    again = with_heads(start, HEADS, seed=6)
    assert torch.equal(head_of(again.module).weight, head_of(made.module).weight)
    with pytest.raises(ValueError, match=r"has the heads .*quality.*; expected .*score"):
        with_heads(start, Heads())
    language = load_any(str(saved(tmp_path / "lm")), dtype="float32", device="cpu", end_token=None)
    assert hasattr(language.module, "lm_head")


def test_a_single_head_that_nobody_named_is_the_score(tmp_path):
    made = with_heads(policy(), Heads())
    save(made, Heads(), tmp_path)
    written = json.loads((tmp_path / "config.json").read_text())
    del written["id2label"], written["label2id"]
    (tmp_path / "config.json").write_text(json.dumps({**written, "num_labels": 1}))
    assert names_of(load_reward_model(str(tmp_path)).module) == ("score",)


def test_the_folder_of_a_run_stands_for_what_it_trained(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(FileNotFoundError, match="has trained no model yet"):
        load_reward_model(str(tmp_path))
    save(with_heads(policy(), Heads()), Heads(), tmp_path / "model")
    assert names_of(load_reward_model(str(tmp_path)).module) == ("score",)


def test_what_is_no_reward_model_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"is no reward model.*guerdon train bradley_terry"):
        load_reward_model(str(saved(tmp_path)))
    with pytest.raises(FileNotFoundError):
        load_reward_model(str(tmp_path / "nowhere"))
    adapted = load_policy(str(tmp_path), lora=Lora(rank=2))
    with pytest.raises(ValueError, match="merge them first"):
        with_heads(adapted, Heads())


def test_heads_need_names_of_their_own():
    for names in ((), ("a", "a")):
        with pytest.raises(ValueError, match="no name twice"):
            Heads(names)
