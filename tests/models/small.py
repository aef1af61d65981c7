"""Tiny random causal language models of several families, and folders that hold them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

_COMMON = {"vocab_size": 40, "bos_token_id": None, "eos_token_id": 1, "pad_token_id": 0}
_MODERN = {
    **_COMMON,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
}
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": _MODERN,
    "qwen2": _MODERN,
    "qwen3": _MODERN,
    "gemma3_text": _MODERN,
    "gemma2": {**_MODERN, "final_logit_softcapping": 0.5},
    "cohere": {**_MODERN, "logit_scale": 0.25},
    "granite": {**_MODERN, "logits_scaling": 8.0},
    "gpt2": {**_COMMON, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64},
    "gpt_neox": {
        **_COMMON,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
    },
}


def model(family: str, **changes: Any) -> Any:
    """A random model in eval mode whose weights are large enough that its logits differ."""
    torch.manual_seed(0)
    module = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **{**FAMILIES[family], **changes}))
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if parameter.ndim > 1 and "norm" not in name:
                parameter.normal_(0, 0.3)
    return module.eval()


def tokenizer(**special: Any) -> Any:
    """Digits and a few letters as characters; <pad> 0 and <end> 1 (named as end unless told otherwise)."""
    words = ["<pad>", "<end>", "<unk>", *"0123456789abcdefghij+-*/= "]
    core = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), behavior="isolated")
    core.decoder = decoders.Fuse()
    named = {"eos_token": "<end>", "pad_token": "<pad>", "unk_token": "<unk>", **special}
    return PreTrainedTokenizerFast(tokenizer_object=core, **{k: v for k, v in named.items() if v is not None})


def saved(folder: Path, family: str = "llama", **changes: Any) -> Path:
    model(family, **changes).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def ids(rows: int = 2, width: int = 7) -> torch.Tensor:
    return torch.randint(3, 40, (rows, width), generator=torch.Generator().manual_seed(1))
