"""Low-rank adapters (Hu et al. 2021, arXiv 2106.09685) through peft: apply, recognise, merge."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Lora:
    """W + (alpha / rank) B A on the target layers; B starts at 0, so that the policy starts unchanged.

    targets: names of the linear layers (`q_proj`, ...); None: all of them but the output layer.
    """

    rank: int = 16
    alpha: float = 32
    dropout: float = 0.0
    targets: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise ValueError(f"rank is {self.rank}; expected at least 1")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout is {self.dropout}; expected it in [0, 1)")


def apply(module: Any, lora: Lora, task: str = "CAUSAL_LM", also: tuple[str, ...] = ()) -> Any:
    """The module with adapters (in place, wrapped by peft); only the adapters keep a gradient, and the layers `also`.

    task: what kind of model peft is told it is.
    """
    peft = _peft()
    config = peft.LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=list(lora.targets) if lora.targets else "all-linear",
        task_type=task,
        modules_to_save=list(also) or None,
    )
    try:
        return peft.get_peft_model(module, config)
    except ValueError as error:
        linear = sorted({name.rpartition(".")[2] for name, layer in module.named_modules() if _is_linear(layer)})
        raise ValueError(f"no adapter fits targets {lora.targets}: {error}. Linear layers here: {linear}") from error


def is_lora(module: Any) -> bool:
    """Whether adapters are applied; never imports peft."""
    return hasattr(module, "peft_config") and hasattr(module, "get_base_model")


def unwrapped(module: Any) -> Any:
    """The Hugging Face model under the adapters (which stay active in it), or the module itself."""
    return module.get_base_model() if is_lora(module) else module


def merged(module: Any) -> Any:
    """A plain copy with the adapters folded into its weights; the module itself is left as it is."""
    return copy.deepcopy(module).merge_and_unload() if is_lora(module) else module


def load_adapter(module: Any, folder: Any) -> Any:
    """The module with the adapters of a saved folder, trainable."""
    return _peft().PeftModel.from_pretrained(module, str(folder), is_trainable=True)


def _peft() -> Any:
    try:
        import peft
    except ImportError as error:
        raise ImportError("adapters need peft: pip install 'guerdon[lora]'") from error
    return peft


def _is_linear(layer: Any) -> bool:
    return type(layer).__name__ in ("Linear", "Conv1D")
