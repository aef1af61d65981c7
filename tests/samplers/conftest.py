"""Tiny random models of every family, and a tokenizer whose text can be read off its ids."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import pytest
import torch

VOCAB = 300
SIZES = {"vocab_size": VOCAB, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


class LetterTokenizer:
    """Id i is the letter i mod 26; ids below 3 are special and have no text."""

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        return "".join(chr(97 + i % 26) for i in ids if i > 2 or not skip_special_tokens)


def _config(family: str):
    import transformers as hf

    wide = {**SIZES, **SPECIAL, "intermediate_size": 64, "max_position_embeddings": 128, "num_key_value_heads": 2}
    if family == "llama":
        return hf.LlamaConfig(**wide)
    if family == "qwen2":
        return hf.Qwen2Config(**wide)
    if family == "qwen2_sliding":
        return hf.Qwen2Config(**wide, use_sliding_window=True, sliding_window=6, max_window_layers=1)
    if family == "mistral":
        return hf.MistralConfig(**wide, sliding_window=6)
    if family == "qwen3":
        return hf.Qwen3Config(**wide, head_dim=16)
    if family == "gemma3":
        types = ["sliding_attention", "full_attention"]
        return hf.Gemma3TextConfig(**wide, head_dim=16, sliding_window=5, layer_types=types)
    if family == "gpt2":
        return hf.GPT2Config(vocab_size=VOCAB, n_embd=32, n_layer=2, n_head=4, n_positions=128, **SPECIAL)
    return hf.GPTNeoXConfig(**SIZES, **SPECIAL, intermediate_size=64, max_position_embeddings=128)


@functools.cache
def tiny_model(family: str = "llama", attention: str = "sdpa"):
    """A fp32 model in training mode whose next-token distributions are far from uniform."""
    import transformers as hf

    torch.manual_seed(0)
    model = hf.AutoModelForCausalLM.from_config(_config(family), attn_implementation=attention)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 2 and "norm" not in name:
                weight.normal_(0, 0.3)
    return model.train()


@pytest.fixture
def tokenizer() -> LetterTokenizer:
    return LetterTokenizer()


@pytest.fixture
def model():
    return tiny_model()


@pytest.fixture
def build():
    """(family, attention) -> shared tiny model; copy it before changing its weights."""
    return tiny_model
