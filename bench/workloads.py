"""The workloads that every contestant runs: model folder, prompts, sizes."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Workload:
    """prompts x group completions of exactly `length` tokens."""

    model: str
    prompts: int
    group: int
    length: int


WORKLOADS = {
    "S": Workload("smollm2-135m", 4, 8, 48),
    "T": Workload("random", 32, 8, 24),
}


def model_folder(work: Workload, scratch: Path) -> Path:
    """Where the workload's model lies; a random one is made in `scratch` when it is not there."""
    if work.model != "random":
        from guerdon.models import gguf

        return Path(gguf.folder())
    folder = scratch / "random-llama"
    if not folder.exists():
        _make(folder)
    return folder


def _make(folder: Path) -> None:
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    from guerdon.models import tiny

    tokenizer = AutoTokenizer.from_pretrained(tiny.FOLDER)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=256,
        intermediate_size=704,
        num_hidden_layers=6,
        num_attention_heads=4,
        max_position_embeddings=512,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=True,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def prompts(work: Workload, step: int) -> list[str]:
    """The prompts of a step, as text."""
    numbers = random.Random(step)
    pairs = [(numbers.randint(10, 99), numbers.randint(10, 99)) for _ in range(work.prompts)]
    if work.model == "random":
        return [f"{a}+{b}=" for a, b in pairs]
    return [f"What is {a} plus {b}?" for a, b in pairs]


def score(text: str) -> float:
    """A reward that tells completions apart, so that every group has something to learn from."""
    return sum(character.isdigit() or character in "aeiou" for character in text) / max(1, len(text))
