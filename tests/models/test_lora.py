"""Adapters: start unchanged, train alone, merge to the same log-probabilities, reload to the same."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from guerdon.models.load import load_policy, save_merged, save_policy
from guerdon.models.lora import Lora, apply, is_lora, merged, unwrapped

from .small import ids, model, saved, tokenizer


def logps(module):  # type: ignore[no-untyped-def]
    with torch.no_grad():
        return module(input_ids=ids()).logits.log_softmax(-1)


def stirred(module):  # type: ignore[no-untyped-def]
    """Adapters away from their start, as after training."""
    torch.manual_seed(3)
    for name, parameter in module.named_parameters():
        if "lora_B" in name:
            nn.init.normal_(parameter, std=0.1)
    return module


@pytest.mark.parametrize("family", ["llama", "gpt2", "gpt_neox"])
def test_adapters_start_unchanged_and_train_alone(family: str) -> None:
    module = apply(model(family), Lora(rank=2))
    torch.testing.assert_close(logps(module), logps(model(family)))
    trained = [name for name, parameter in module.named_parameters() if parameter.requires_grad]
    assert trained
    assert all("lora_" in name for name in trained)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_merged_log_probs_are_the_adapters(family: str) -> None:
    module = stirred(apply(model(family), Lora(rank=2)))
    before = logps(module)
    assert not torch.allclose(before, logps(model(family)), atol=1e-2)
    plain = merged(module)
    assert not is_lora(plain)
    torch.testing.assert_close(logps(plain), before, atol=1e-5, rtol=1e-5)
    assert torch.equal(logps(module), before)  # the adapted module is as it was


def test_adapters_reload_equal_and_trainable(tmp_path: Path) -> None:
    base = saved(tmp_path / "base")
    policy = load_policy(str(base), lora=Lora(rank=2))
    before = logps(stirred(policy.module))
    save_policy(policy.module, policy.tokenizer, tmp_path / "adapters")
    assert not (tmp_path / "adapters" / "model.safetensors").exists()
    again = load_policy(str(tmp_path / "adapters"))
    assert is_lora(again.module)
    assert torch.equal(logps(again.module), before)
    assert any(parameter.requires_grad for parameter in again.module.parameters())
    with pytest.raises(ValueError, match="already holds adapters"):
        load_policy(str(tmp_path / "adapters"), lora=Lora())


def test_a_merged_folder_is_plain(tmp_path: Path) -> None:
    module = stirred(apply(model("llama"), Lora(rank=2)))
    policy = load_policy(str(save_merged(module, tokenizer(), tmp_path / "merged")))
    assert not is_lora(policy.module)
    torch.testing.assert_close(logps(policy.module), logps(module), atol=1e-5, rtol=1e-5)


def test_only_named_targets_are_adapted() -> None:
    module = apply(model("llama"), Lora(rank=2, targets=("q_proj",)))
    assert all("q_proj" in name for name, parameter in module.named_parameters() if parameter.requires_grad)
    with pytest.raises(ValueError, match=r"no adapter fits.*Linear layers here: .*'q_proj'"):
        apply(model("llama"), Lora(targets=("nowhere",)))


def test_unwrapped() -> None:
    module = model("llama")
    assert unwrapped(module) is module
    assert unwrapped(apply(module, Lora(rank=2))) is module


@pytest.mark.parametrize("bad", [{"rank": 0}, {"dropout": 1.0}])
def test_impossible_settings_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        Lora(**bad)  # type: ignore[arg-type]


def test_without_peft_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(ImportError, match=r"pip install 'guerdon\[lora\]'"):
        apply(model("llama"), Lora())
