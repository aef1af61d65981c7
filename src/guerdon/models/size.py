"""How large a policy is, without loading it: from `config.json` and the headers of its safetensors files.

A model that has none of these at hand (a hub name, other weight files) is built by transformers without storage.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guerdon.models import gguf
from guerdon.models.load import SMOLLM2, resolve

CACHE_BYTES = 1_000_000_000
ACTIVATION_BYTES = 640_000_000
KEPT_WIDTHS = 12
"""Numbers that a layer of `blocks` keeps per token for its backward pass, in widths of the residual stream."""
MOST_TOKENS, LEAST_TOKENS, USUAL_TOKENS = 2048, 256, 4096
PROMPT_TOKENS = 32
"""Taken for the length of a prompt where no task says it."""

Shapes = Mapping[str, Sequence[int]]
"""Shape of each tensor by name; tied tensors once."""


@dataclass(frozen=True)
class Size:
    """weights: all parameters; trained: those with a gradient. width: of the residual stream.

    kv_width: numbers that one layer caches per token, keys and values together.
    """

    weights: int
    trained: int
    layers: int
    width: int
    vocabulary: int
    kv_width: int


def size_of(model: str, lora_rank: int = 0) -> Size:
    """The size of a policy by name (see `models.load.resolve`)."""
    source = resolve(model)
    if model == SMOLLM2 and isinstance(source, Path) and not source.exists():
        return measured(*gguf.described(gguf.source()), lora_rank)
    if isinstance(source, Path) and (source / "adapter_config.json").is_file():
        base = json.loads((source / "adapter_config.json").read_text(encoding="utf-8"))["base_model_name_or_path"]
        return size_of(base, lora_rank)
    if isinstance(source, Path) and not (source / "config.json").is_file():
        raise FileNotFoundError(f"{source} holds no config.json; 'guerdon sample {model} Hello' makes or checks it")
    files = sorted(source.glob("*.safetensors")) if isinstance(source, Path) else []
    if isinstance(source, Path) and files:
        config = json.loads((source / "config.json").read_text(encoding="utf-8"))
        shapes: Shapes = {name: shape for file in files for name, shape in header(file).items()}
    else:
        config, shapes = _built(source)
    return measured(config, shapes, lora_rank)


def measured(config: Mapping[str, Any], shapes: Shapes, lora_rank: int = 0) -> Size:
    """The size that a config and the tensors' shapes add up to."""
    text = config.get("text_config") or config
    heads = _number(text, "num_attention_heads", "n_head")
    width = _number(text, "hidden_size", "n_embd")
    weights = sum(math.prod(shape) for shape in shapes.values())
    adapters = sum(lora_rank * sum(shape) for name, shape in shapes.items() if _adapted(name, shape))
    return Size(
        weights=weights,
        trained=adapters if lora_rank else weights,
        layers=_number(text, "num_hidden_layers", "n_layer"),
        width=width,
        vocabulary=_number(text, "vocab_size"),
        kv_width=2 * (text.get("num_key_value_heads") or heads) * (text.get("head_dim") or width // heads),
    )


def decoding_slots(size: Size, tokens: int, number: int) -> int:
    """Completions to decode at once: what CACHE_BYTES hold of keys and values of `number` bytes, 16 to 512.

    tokens: how long a completion may become; a prompt of PROMPT_TOKENS is allowed for.
    """
    each = (PROMPT_TOKENS + tokens) * size.layers * size.kv_width * number
    return max(16, min(512, CACHE_BYTES // each))


def tokens_at_once(layers: int, width: int) -> int:
    """Tokens to train on at once on a CPU: what ACTIVATION_BYTES hold in float32, since more gain a tenth at most."""
    each = layers * width * KEPT_WIDTHS * 4
    return max(LEAST_TOKENS, min(MOST_TOKENS, ACTIVATION_BYTES // each))


def header(file: Path) -> dict[str, list[int]]:
    """Shapes of the tensors in a safetensors file: 8 bytes of length, then JSON."""
    with file.open("rb") as stream:
        entries = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
    return {name: entry["shape"] for name, entry in entries.items() if name != "__metadata__"}


def _number(config: Mapping[str, Any], *names: str) -> int:
    for name in names:
        if config.get(name) is not None:
            return int(config[name])
    raise ValueError(f"the model's config names none of {', '.join(names)}; it has {', '.join(sorted(config))}")


def _adapted(name: str, shape: Sequence[int]) -> bool:
    """Whether `all-linear` adapters would sit on this tensor: matrices, but neither embeddings nor the output layer."""
    return len(shape) == 2 and not any(part in name for part in ("embed", "embd", "wte", "wpe", "lm_head"))


def _built(source: Path | str) -> tuple[Mapping[str, Any], Shapes]:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.from_pretrained(str(source))
    with torch.device("meta"):
        module = AutoModelForCausalLM.from_config(config)
    return config.to_dict(), {name: list(p.shape) for name, p in module.named_parameters()}
