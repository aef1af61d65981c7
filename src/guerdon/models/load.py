"""A name -> a policy: the shipped tiny one, SmolLM2 from the package index, a folder, or a hub name; and back to disk.

Every way in ends in the same state: a causal language model and its tokenizer, dropout off, an end token named, and
no token (pad least of all) whose embedding is left out of training.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guerdon.models import gguf, lora, tiny
from guerdon.models.lora import Lora

DTYPES = ("float32", "bfloat16", "float16")
SMOLLM2 = "smollm2-135m"


@dataclass(frozen=True)
class Policy:
    """A loaded policy. source: the folder or hub name it came from."""

    module: Any
    tokenizer: Any
    name: str
    source: Path | str

    @property
    def stop_tokens(self) -> tuple[int, ...]:
        """Ids that end a completion."""
        return default_stop_tokens(self.tokenizer, lora.unwrapped(self.module).generation_config)


def resolve(name: str) -> Path | str:
    """Where a policy's files are: a folder, or a hub name as it is. Loads and makes nothing.

    For `smollm2-135m` it is the cache folder, which `load_policy` fills when it is first asked for.
    """
    if name == "tiny":
        return tiny.FOLDER
    if name == SMOLLM2:
        return gguf.cache_folder(gguf.source())
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if folder.is_file():
        raise NotADirectoryError(f"{name} is a file; expected a Hugging Face model folder (config.json, weights)")
    looks_local = name.startswith((".", "/", "~")) or (folder.parent != Path(".") and folder.parent.is_dir())
    if looks_local or not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name):
        raise FileNotFoundError(
            f"no folder {name} (looked from {Path.cwd()}), and it cannot be a hub name; "
            f"expected 'tiny', '{SMOLLM2}', an existing folder, or a hub name such as 'Qwen/Qwen3-0.6B'"
        )
    return name


def load_policy(
    name: str,
    *,
    dtype: str = "float32",
    lora: Lora | None = None,
    gradient_checkpointing: bool = False,
    device: Any = "cpu",
    end_token: str | None = None,
    attn_implementation: str = "sdpa",
) -> Policy:
    """Loads a policy by name (see `resolve`), in eval mode with every dropout at 0.

    A folder of adapters is loaded onto its base, trainable. gradient_checkpointing puts the module in train mode,
    where alone it works; with dropout off nothing else changes. end_token: for a tokenizer that names none.
    """
    _check_device(device)
    source = gguf.folder() if name == SMOLLM2 else resolve(name)
    adapters = source if _has(source, "adapter_config.json") else None
    if adapters and lora:
        raise ValueError(f"{source} already holds adapters; load it without `lora`, or merge it first (`save_merged`)")
    base = _base_of(adapters) if adapters else source
    config = _config(base)
    tokenizer = _tokenizer(source, end_token)
    module = _module(base, config, dtype, attn_implementation)
    module = _adapted(module, lora, adapters)
    if gradient_checkpointing:
        module.activation_checkpointing_enable(activation_checkpointing_kwargs={"use_reentrant": False})
        module.train()
    return Policy(module.to(device), tokenizer, name, source)


def save_policy(module: Any, tokenizer: Any, folder: Path | str) -> Path:
    """Writes a plain Hugging Face folder; of an adapted module, a folder of adapters that names its base."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    module.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_merged(module: Any, tokenizer: Any, folder: Path | str) -> Path:
    """Writes a plain folder with the adapters folded in; the module itself is left as it is."""
    return save_policy(lora.merged(module), tokenizer, folder)


def default_stop_tokens(tokenizer: Any, generation_config: Any = None) -> tuple[int, ...]:
    """All ids that end a completion: the model's, the tokenizer's, and what its chat template closes a turn with."""
    from guerdon.chat import Chat

    ids: set[int] = set()
    named = getattr(generation_config, "eos_token_id", None)
    ids.update([named] if isinstance(named, int) else named or [])
    if tokenizer.eos_token_id is not None:
        ids.add(tokenizer.eos_token_id)
    if tokenizer.chat_template:
        ids.update({Chat(tokenizer).turn_end} - {None})  # type: ignore[arg-type]
    return tuple(sorted(int(i) for i in ids))


def _check_device(device: Any) -> None:
    import torch

    try:
        kind = torch.device(device).type
    except RuntimeError:
        raise ValueError(f"device is {device!r}; expected cpu, cuda, cuda:1 or another device of torch") from None
    if kind == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device is {str(device)!r}, but torch {torch.__version__} finds no GPU here; expected cpu")


def _adapted(module: Any, wanted: Lora | None, folder: Path | str | None) -> Any:
    if folder:
        return lora.load_adapter(module, folder)
    return lora.apply(module, wanted) if wanted else module


def _has(source: Path | str, file: str) -> bool:
    return isinstance(source, Path) and (source / file).is_file()


def _base_of(adapters: Path | str) -> Path | str:
    base = json.loads((Path(adapters) / "adapter_config.json").read_text()).get("base_model_name_or_path")
    if not base:
        raise ValueError(f"{adapters}/adapter_config.json names no base model (base_model_name_or_path)")
    return resolve(base)


def _tokenizer(source: Path | str, end_token: str | None) -> Any:
    from transformers import AutoTokenizer

    if isinstance(source, Path) and not any(_has(source, file) for file in _TOKENIZER_FILES):
        raise FileNotFoundError(
            f"{source} holds no tokenizer (none of {', '.join(_TOKENIZER_FILES)}); save one there with "
            "`tokenizer.save_pretrained`"
        )
    tokenizer = _fetched(AutoTokenizer.from_pretrained, source)
    if end_token is not None:
        if end_token not in tokenizer.get_vocab():
            raise ValueError(f"end_token {end_token!r} is not one token of {source}; name one of its vocabulary")
        tokenizer.eos_token = end_token
    if tokenizer.eos_token_id is None:
        raise ValueError(
            f"the tokenizer of {source} names no end token, so no completion could ever end; name one that is in its "
            f"vocabulary: load_policy(..., end_token='...'). Special tokens there: {tokenizer.all_special_tokens}"
        )
    return tokenizer


_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.json")


def _module(source: Path | str, config: Any, dtype: str, attn_implementation: str) -> Any:
    import torch
    from transformers import AutoModelForCausalLM

    if dtype not in DTYPES:
        raise ValueError(f"dtype is {dtype!r}; expected one of {DTYPES}")
    try:
        module, report = _fetched(
            AutoModelForCausalLM.from_pretrained,
            source,
            config=config,
            dtype=getattr(torch, dtype),
            attn_implementation=attn_implementation,
            output_loading_info=True,
        )
    except ValueError as error:
        if "scaled_dot_product_attention" not in str(error):
            raise
        raise ValueError(f"{source}: {error}. Load it with attn_implementation='eager'") from error
    if report["missing_keys"]:
        lacking = sorted(report["missing_keys"])
        raise ValueError(
            f"the weights of {source} lack {len(lacking)} tensors of a {type(module).__name__}, which would start at "
            f"random ({', '.join(lacking[:3])}, ...); is it the folder of another kind of model?"
        )
    _train_every_row(module)
    _out_of_the_file(module)
    return module.eval()


def _config(source: Path | str) -> Any:
    """The model's configuration, checked to be a causal language model's, with every dropout at 0."""
    from transformers import AutoConfig
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

    if isinstance(source, Path) and not _has(source, "config.json"):
        held = ", ".join(sorted(file.name for file in source.iterdir())[:8]) if source.is_dir() else "nothing"
        raise FileNotFoundError(f"{source} holds no config.json (it holds {held or 'nothing'}): not a model folder")
    try:
        config = _fetched(AutoConfig.from_pretrained, source)
    except (ValueError, KeyError) as error:
        raise ValueError(f"{source} is of a family that the installed transformers does not know: {error}") from error
    written = config.architectures or []
    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING or (written and not any(map(_generates, written))):
        raise ValueError(
            f"{source} is a {config.model_type} model of architecture {written}, not a causal language model; a policy "
            "is one of those that transformers loads with AutoModelForCausalLM"
        )
    for part in (config, config.get_text_config()):
        for key, value in vars(part).copy().items():
            if "drop" in key and isinstance(value, float):
                setattr(part, key, 0.0)
    return config


def _generates(architecture: str) -> bool:
    return any(kind in architecture for kind in ("CausalLM", "LMHead", "ConditionalGeneration"))


def _train_every_row(module: Any) -> None:
    """`padding_idx` takes the gradient from the pad token's row, which is the end token's where the two are one."""
    embedding = module.get_input_embeddings()
    if getattr(embedding, "padding_idx", None) is not None:
        embedding.padding_idx = None


def _out_of_the_file(module: Any) -> None:
    """Weights into memory of their own: pages of a mapped file are small, and change when the file is changed."""
    for parameter in module.parameters():
        if parameter.device.type == "cpu":
            parameter.data = parameter.data.clone()


def _fetched(load: Any, source: Path | str, **settings: Any) -> Any:
    """Calls a `from_pretrained`; folders never reach for the network, and its failures say what to do."""
    local = isinstance(source, Path)
    try:
        return load(str(source), local_files_only=local, **settings)
    except OSError as error:
        if local:
            raise OSError(f"{source} cannot be loaded: {error}") from error
        raise OSError(
            f"no folder {source!r} here (looked from {Path.cwd()}), and no model of that name could be read from the "
            f"hub: {_first_line(error)}. Check the name and the network, or download it where there is one "
            f"(`hf download {source} --local-dir FOLDER`) and pass the folder; 'tiny' and '{SMOLLM2}' need no hub"
        ) from error


def _first_line(error: BaseException) -> str:
    return next(iter(_lines(error)), type(error).__name__)


def _lines(error: BaseException) -> Iterable[str]:
    return (line.strip().rstrip(".") for line in str(error).splitlines() if line.strip())
