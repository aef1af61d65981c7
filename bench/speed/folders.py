"""The model folders of the workloads: python -m speed.folders MODEL SCRATCH prints where one is, and makes it first.

Made with guerdon's environment; a peer's process is only told where they are.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from speed.workloads import QWEN, RANDOM, SMOL


def folder(model: str, scratch: Path) -> Path:
    """Where a model is; a random one is made in `scratch` when it is not there."""
    from guerdon.models import gguf

    if model == SMOL:
        return Path(gguf.folder())
    made = scratch / model
    if not (made / "config.json").exists():
        from transformers import AutoModelForCausalLM

        tokenizer = characters()
        config = {RANDOM: llama, QWEN: qwen}[model](tokenizer)
        AutoModelForCausalLM.from_config(config).save_pretrained(made)
        tokenizer.save_pretrained(made)
    return made


def characters() -> Any:
    """The tokenizer of guerdon's tiny policy: one token per character."""
    from transformers import AutoTokenizer

    from guerdon.models import tiny

    return AutoTokenizer.from_pretrained(tiny.FOLDER)


def llama(tokenizer: Any, width: int = 256, layers: int = 6, vocab: int = 0, positions: int = 512) -> Any:
    """The config of a Llama over these tokens, with heads of 64."""
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=vocab or len(tokenizer),
        hidden_size=width,
        intermediate_size=width * 11 // 4,
        num_hidden_layers=layers,
        num_attention_heads=max(1, width // 64),
        max_position_embeddings=positions,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=True,
    )


def qwen(tokenizer: Any) -> Any:
    """The sizes of Qwen3-0.6B over these tokens, most of its vocabulary unnamed."""
    import torch
    from transformers import Qwen3Config

    return Qwen3Config(
        vocab_size=151936,
        hidden_size=1024,
        intermediate_size=3072,
        num_hidden_layers=28,
        num_attention_heads=16,
        num_key_value_heads=8,
        head_dim=128,
        max_position_embeddings=4096,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=True,
        dtype=torch.bfloat16,
    )


def main() -> None:
    import torch

    torch.manual_seed(0)
    print(folder(sys.argv[1], Path(sys.argv[2])))


if __name__ == "__main__":
    main()
