"""Reward models: a language model's trunk with one linear head of a few scores, in transformers' own form.

A folder that `save` wrote loads in plain transformers as a sequence classification model, one label per head; its score
of a text is the head's output at the last token that is no padding. The head is named by `id2label`, and kept in
float32 whatever the trunk is in: two replies differ by less than half precision can say.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
from torch import nn

from guerdon.chat import Chat
from guerdon.method import Heads
from guerdon.models.load import Policy, load_policy, resolve
from guerdon.models.lora import Lora, apply, is_lora, merged, unwrapped

PAD = "<|pad|>"
"""The padding token of a model that has none of its own."""


def with_heads(policy: Policy, heads: Heads, seed: int = 0, lora: Lora | None = None) -> Policy:
    """The policy's trunk under fresh heads, drawn from N(0, 1 / (width + 1)) by the seed; or a reward model that has
    these heads already, as it is. Adapters, if any, go on the trunk, by the seed too; heads are always trained."""
    module, tokenizer = policy.module, policy.tokenizer
    if not _is_reward_model(module):
        module, tokenizer = _convert(module, tokenizer, heads, seed)
    elif names_of(module) != heads.names:
        raise ValueError(f"{policy.name} has the heads {names_of(module)}; expected {heads.names}")
    if heads.frozen_trunk:
        module.requires_grad_(False)
    elif lora is not None:
        module = _adapted(module, lora, seed)
    head_of(module).weight.requires_grad_(True)
    return Policy(module, tokenizer, policy.name, policy.source)


def load_any(name: str, *, dtype: str, device: Any, end_token: str | None) -> Policy:
    """What a reward model starts from: one that was trained before, or a language model."""
    if _classifies(_source(name)):
        return load_reward_model(name, dtype=dtype, device=device)
    return load_policy(name, dtype=dtype, device=device, end_token=end_token)


def load_reward_model(name: str, *, dtype: str = "float32", device: Any = "cpu") -> Policy:
    """A saved reward model: its folder, the folder of the run that trained it, or a hub name.

    A single head that nobody named is called 'score'. ValueError when it is another kind of model.
    """
    from transformers import AutoConfig, AutoTokenizer

    source = _source(name)
    if not _classifies(source):
        raise ValueError(
            f"{name} is no reward model: expected a sequence classification model. Train one: "
            f"guerdon train bradley_terry --model {name} --data pairs.jsonl"
        )
    local = isinstance(source, Path)
    config = AutoConfig.from_pretrained(source, local_files_only=local)
    module, report = _kind(config).from_pretrained(
        source,
        config=config,
        dtype=getattr(torch, dtype),
        local_files_only=local,
        output_loading_info=True,
        attn_implementation="sdpa",
    )
    if report["missing_keys"]:
        raise ValueError(f"the weights of {name} lack {sorted(report['missing_keys'])[:3]}, which would be random")
    if names_of(module) == ("LABEL_0",):
        _name_heads(module.config, ("score",))
    tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=local)
    return Policy(_train_every_row(module).eval().to(device), tokenizer, name, source)


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
    return centred / centred.square().sum(1, keepdim=True).sqrt()


def _source(name: str) -> Path | str:
    """Where a model's files are; of a run's folder, what the run trained."""
    found = resolve(name)
    if isinstance(found, Path) and (found / "run.json").is_file():
        found = found / "model"
        if not found.is_dir():
            raise FileNotFoundError(f"the run {name} has trained no model yet (no {found}); let it finish first")
    return found


def _classifies(source: Path | str) -> bool:
    """Whether a folder, or what the hub has under a name, says that it is a sequence classification model."""
    from transformers import AutoConfig

    if isinstance(source, Path) and not (source / "config.json").is_file():
        return False
    try:
        config = AutoConfig.from_pretrained(source, local_files_only=isinstance(source, Path))
    except (OSError, ValueError, KeyError):  # what it is instead, `load_policy` says better
        return False
    return any("SequenceClassification" in kind for kind in config.architectures or [])


def _is_reward_model(module: Any) -> bool:
    return hasattr(unwrapped(module), "score") and hasattr(unwrapped(module), "num_labels")


def _kind(config: Any) -> Any:
    """The family's sequence classification class, with a head that stays in float32 on loading."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING

    try:
        kind: Any = MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING[type(config)]
    except KeyError as error:
        raise ValueError(f"transformers has no sequence classification form of {config.model_type} models") from error
    kept = {"_keep_in_fp32_modules_strict": ["score"], "__module__": kind.__module__}
    return type(kind.__name__, (kind,), kept)


def _name_heads(config: Any, names: tuple[str, ...]) -> None:
    config.num_labels = len(names)
    config.id2label = dict(enumerate(names))
    config.label2id = {name: i for i, name in enumerate(names)}


def _convert(module: Any, tokenizer: Any, heads: Heads, seed: int) -> tuple[Any, Any]:
    if is_lora(module):
        raise ValueError("a policy with adapters cannot become a reward model; merge them first (`save_merged`)")
    config = module.config.__class__(**module.config.to_dict())
    _name_heads(config, heads.names)
    config._attn_implementation = module.config._attn_implementation
    made = _kind(config)._from_config(config, dtype=module.dtype)
    made.base_model.load_state_dict(module.base_model.state_dict())
    tokenizer = _padded(made, tokenizer)
    made.score.float()
    numbers = torch.Generator().manual_seed(seed)
    drawn = torch.randn(made.score.weight.shape, generator=numbers) / (made.score.weight.shape[1] + 1) ** 0.5
    with torch.no_grad():
        made.score.weight.copy_(drawn)
    return _train_every_row(made).eval().to(module.device), tokenizer


def _padded(module: Any, tokenizer: Any) -> Any:
    """The tokenizer, and the module beside it, with a padding token that ends no reply: transformers takes the last
    token that is no padding, and would pass by an end token that pads as well."""
    ends = {tokenizer.eos_token_id, Chat(tokenizer).turn_end}
    if tokenizer.pad_token_id is None or tokenizer.pad_token_id in ends:
        tokenizer = copy.deepcopy(tokenizer)
        others = [token for token in tokenizer.all_special_tokens if tokenizer.convert_tokens_to_ids(token) not in ends]
        tokenizer.add_special_tokens({"pad_token": others[0] if others else PAD})
        rows = module.get_input_embeddings().num_embeddings
        if tokenizer.pad_token_id >= rows:
            module.resize_token_embeddings(tokenizer.pad_token_id + 1)
    module.config.pad_token_id = tokenizer.pad_token_id
    return tokenizer


def _train_every_row(module: Any) -> Any:
    """`padding_idx` would take the gradient from the padding token's row, which other models end their replies with."""
    module.get_input_embeddings().padding_idx = None
    return module


def _adapted(module: Any, lora: Lora, seed: int) -> Any:
    """Adapters that start from the seed, as the heads do, whatever was drawn before in this process."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return apply(module, lora, task="SEQ_CLS", also=("score",))
