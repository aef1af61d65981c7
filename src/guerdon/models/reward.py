"""Reward models: a language model's trunk with one linear head of a few scores, in transformers' own form.

A folder that `save` wrote loads in plain transformers as a sequence classification model, one label per head; its score
of a text is the head's output at the last token. The head is named by `id2label`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import nn

from guerdon.method import Heads
from guerdon.models.load import Policy, load_policy
from guerdon.models.lora import Lora, is_lora, merged, unwrapped


def with_heads(policy: Policy, heads: Heads, seed: int = 0, lora: Lora | None = None) -> Policy:
    """The policy's trunk under fresh heads, drawn from N(0, 1 / (width + 1)) by the seed; or a reward model that has
    these heads already, as it is. Adapters, if any, go on the trunk; the heads are always trained."""
    module = policy.module
    if not _is_reward_model(module):
        module = _convert(module, policy.tokenizer, heads, seed)
    elif names_of(module) != heads.names:
        raise ValueError(f"{policy.name} has the heads {names_of(module)}; expected {heads.names}")
    if heads.frozen_trunk:
        module.requires_grad_(False)
    elif lora is not None:
        module = _adapted(module, lora)
    head_of(module).weight.requires_grad_(True)
    return Policy(module, policy.tokenizer, policy.name, policy.source)


def load_any(name: str, *, dtype: str, device: Any, end_token: str | None) -> Policy:
    """What a reward model starts from: one that was trained before, or a language model."""
    config = Path(name).expanduser() / "config.json"
    if config.is_file() and any("SequenceClassification" in kind for kind in _architectures(config)):
        return load_reward_model(name, dtype=dtype, device=device)
    return load_policy(name, dtype=dtype, device=device, end_token=end_token)


def _architectures(config: Path) -> list[str]:
    return list(json.loads(config.read_text(encoding="utf-8")).get("architectures") or [])


def load_reward_model(name: str, *, dtype: str = "float32", device: Any = "cpu") -> Policy:
    """A saved reward model. ValueError when the folder holds another kind of model."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = Path(name).expanduser()
    if (folder / "run.json").is_file():
        folder = folder / "model"
    if not (folder / "config.json").is_file():
        raise FileNotFoundError(f"{name} is no folder of a reward model (no config.json; looked from {Path.cwd()})")
    module, report = AutoModelForSequenceClassification.from_pretrained(
        folder, dtype=getattr(torch, dtype), local_files_only=True, output_loading_info=True, attn_implementation="sdpa"
    )
    if report["missing_keys"]:
        raise ValueError(
            f"{folder} lacks {sorted(report['missing_keys'])[:3]}: it is no reward model. "
            "Train one: guerdon train bradley_terry --data pairs.jsonl"
        )
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return Policy(module.eval().to(device), tokenizer, name, folder)


def save(policy: Policy, heads: Heads, folder: Path) -> None:
    """A plain folder: adapters folded in, heads as they are used."""
    module = merged(policy.module) if is_lora(policy.module) else policy.module
    held = head_of(module).weight.detach().clone()
    with torch.no_grad():
        head_of(module).weight.copy_(weight_of(module, heads))
        module.save_pretrained(folder)
        head_of(module).weight.copy_(held)
    policy.tokenizer.save_pretrained(folder)


def names_of(module: Any) -> tuple[str, ...]:
    """Names of a reward model's heads, in order."""
    labels = unwrapped(module).config.id2label
    return tuple(str(labels[i]) for i in range(len(labels)))


def trunk_of(module: Any) -> Any:
    return unwrapped(module).base_model


def head_of(module: Any) -> nn.Linear:
    found = unwrapped(module).score
    # peft keeps a trained copy of a module beside the original
    return found.modules_to_save["default"] if hasattr(found, "modules_to_save") else found  # type: ignore[no-any-return]


def weight_of(module: Any, heads: Heads) -> torch.Tensor:
    """[K, H] the heads as they are used."""
    weight: torch.Tensor = head_of(module).weight
    if not heads.unit_norm:
        return weight
    centred = weight - weight.mean(1, keepdim=True)
    return centred / centred.norm(dim=1, keepdim=True)


def _is_reward_model(module: Any) -> bool:
    return hasattr(unwrapped(module), "score") and hasattr(unwrapped(module), "num_labels")


def _convert(module: Any, tokenizer: Any, heads: Heads, seed: int) -> Any:
    from transformers import AutoModelForSequenceClassification

    if is_lora(module):
        raise ValueError("a policy with adapters cannot become a reward model; merge them first (`save_merged`)")
    config = module.config.__class__(**module.config.to_dict())
    config.num_labels = len(heads.names)
    config.id2label = dict(enumerate(heads.names))
    config.label2id = {name: i for i, name in enumerate(heads.names)}
    config.pad_token_id = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    config._attn_implementation = module.config._attn_implementation
    try:
        made = AutoModelForSequenceClassification.from_config(config, dtype=module.dtype)
    except ValueError as error:
        raise ValueError(f"transformers has no sequence classification form of {type(module).__name__}") from error
    made.base_model.load_state_dict(module.base_model.state_dict())
    numbers = torch.Generator().manual_seed(seed)
    weight = made.score.weight
    drawn = torch.randn(weight.shape, generator=numbers) / (weight.shape[1] + 1) ** 0.5
    with torch.no_grad():
        weight.copy_(drawn)
    return made.eval().to(module.device)


def _adapted(module: Any, lora: Lora) -> Any:
    from guerdon.models.lora import apply

    return apply(module, lora, task="SEQ_CLS", also=("score",))
