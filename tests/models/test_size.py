"""Sizes read from files agree with the loaded model."""

from __future__ import annotations

from pathlib import Path

import pytest

from guerdon.models.size import size_of
from tests.models.small import model, saved


@pytest.mark.parametrize("family", ["llama", "gpt2", "gpt_neox", "gemma3_text"])
def test_weights_are_counted_without_loading(tmp_path: Path, family: str):
    saved(tmp_path, family)
    found = size_of(str(tmp_path))
    module = model(family)
    assert found.weights == found.trained == sum(p.numel() for p in module.parameters())
    assert (found.layers, found.width, found.vocabulary) == (2, 32, 40)
    assert found.kv_width == 2 * (16 if family in ("llama", "gemma3_text") else 32)


def test_adapters_are_counted_as_peft_makes_them(tmp_path: Path):
    from guerdon.models.lora import Lora, apply

    saved(tmp_path)
    adapted = apply(model("llama"), Lora(rank=3, alpha=6))
    assert size_of(str(tmp_path), 3).trained == sum(p.numel() for p in adapted.parameters() if p.requires_grad)


def test_other_weight_files_are_sized_by_building_the_model(tmp_path: Path):
    saved(tmp_path)
    with_header = size_of(str(tmp_path))
    (tmp_path / "model.safetensors").unlink()
    assert size_of(str(tmp_path)) == with_header


def test_a_folder_without_a_config_is_named(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"config\.json"):
        size_of(str(tmp_path))
