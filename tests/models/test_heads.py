"""Halves: trunk, output layer and finish give the model's own logits in every family; the value head starts at 0."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from guerdon.models.heads import ValueHead, check_head, split
from guerdon.models.lora import Lora, apply

from .small import FAMILIES, ids, model


@pytest.mark.parametrize("family", FAMILIES)
def test_the_halves_are_the_whole(family: str) -> None:
    module = model(family)
    trunk, head, finish = split(module)
    tokens = ids()
    whole = module(input_ids=tokens).logits
    assert whole.std() > 1e-2
    torch.testing.assert_close(finish(head(trunk(input_ids=tokens).last_hidden_state)), whole, atol=1e-5, rtol=1e-5)
    check_head(module)


@pytest.mark.parametrize("family", ["gemma2", "cohere", "granite"])
def test_what_happens_after_the_output_layer_matters(family: str) -> None:
    module = model(family)
    trunk, head, _ = split(module)
    raw = head(trunk(input_ids=ids()).last_hidden_state)
    assert not torch.allclose(raw, module(input_ids=ids()).logits, atol=1e-2)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_adapters_stay_active_in_the_trunk(family: str) -> None:
    module = apply(model(family), Lora(rank=2))
    for name, parameter in module.named_parameters():
        if "lora_B" in name:
            nn.init.normal_(parameter)
    trunk, head, finish = split(module)
    whole = module(input_ids=ids()).logits
    torch.testing.assert_close(finish(head(trunk(input_ids=ids()).last_hidden_state)), whole, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(whole, model(family)(input_ids=ids()).logits, atol=1e-2)
    check_head(module)


def test_a_family_that_deviates_is_refused() -> None:
    module = model("llama")
    plain = module.forward
    module.forward = lambda **inputs: _doubled(plain(**inputs))
    with pytest.raises(ValueError, match="LlamaForCausalLM computes its logits in a way that is not known"):
        check_head(module)


def _doubled(output):  # type: ignore[no-untyped-def]
    output.logits = output.logits * 2
    return output


def test_check_head_leaves_the_mode_alone() -> None:
    module = model("llama").train()
    check_head(module)
    assert module.training


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_values_start_at_zero_and_learn(dtype: torch.dtype) -> None:
    value = ValueHead(model("llama").to(dtype))
    hidden = value.trunk(input_ids=ids()).last_hidden_state
    assert value(hidden).shape == (2, 7)
    assert value(hidden.flatten(0, 1)).shape == (14,)
    assert value(hidden).dtype == torch.float32
    assert torch.equal(value(hidden), torch.zeros(2, 7))
    value(hidden).sum().backward()
    torch.testing.assert_close(value.head.weight.grad[0], hidden.float().sum((0, 1)), atol=1e-2, rtol=1e-2)
    assert not any("lm_head" in name for name, _ in value.named_parameters())


def test_a_value_head_splits_like_a_language_model() -> None:
    value = ValueHead(model("gpt2"))
    nn.init.normal_(value.head.weight)
    trunk, head, finish = split(value)
    hidden = trunk(input_ids=ids()).last_hidden_state
    assert torch.equal(finish(head(hidden)).squeeze(-1), value(hidden))
