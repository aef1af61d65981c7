"""The two halves of a causal language model, its trunk and its output layer, and the scalar head of a value model.

A likelihood runs the trunk once and the output layer only where it needs logits. `split` finds the halves,
`check_head` proves on a few tokens that together they are the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from guerdon.blocks import stack
from guerdon.models.lora import unwrapped


class Halves(NamedTuple):
    """finish(head(trunk(input_ids=...).last_hidden_state)) is the model's logits [..., V] (values [..., 1])."""

    trunk: Any
    head: Any
    finish: Callable[[Tensor], Tensor]

    @property
    def plain(self) -> bool:
        """Whether the logits are hidden states times a weight, and nothing else."""
        head = self.head
        return stack.plain(head) and head.bias is None and self.finish is _as_is and not stack.hooked(head)


class ValueHead(nn.Module):
    """A language model's trunk with a scalar head: one value per token, in reward units.

    The head starts at 0, so that every value is 0 before the first step, and is kept in fp32. The output layer of the
    language model is not kept. The trunk is the given module's own, not a copy.
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        halves = split(module)
        self.trunk = halves.trunk
        output: Any = halves.head
        width, device = output.weight.shape[-1], output.weight.device
        self.head = nn.Linear(width, 1, device=device, dtype=torch.float32)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, hidden: Tensor) -> Tensor:
        """Hidden states [..., H] to values [...]."""
        return self.head(hidden.float()).squeeze(-1)  # type: ignore[no-any-return]


def split(module: Any) -> Halves:
    """The halves of any causal language model of transformers, with or without adapters, or of a `ValueHead`."""
    if isinstance(module, ValueHead):
        return Halves(module.trunk, _Widened(module.head), _as_is)
    model = unwrapped(module)
    head = model.get_output_embeddings()
    if head is None:
        raise ValueError(f"{type(model).__name__} has no output layer, so it is not a causal language model")
    return Halves(model.get_decoder(), head, _finisher(model))


def trunk_in(module: Any) -> Any:
    """The trunk of a policy, value model or reward model, adapters in it; any other module itself."""
    if isinstance(module, ValueHead):
        return module.trunk
    return getattr(unwrapped(module), "base_model", module)


@torch.no_grad()
def check_head(module: Any, seed: int = 0, tolerance: float = 1e-3) -> None:
    """Raises unless the halves give the model's own logits on a few random tokens (relative to their spread)."""
    model = unwrapped(module)
    trunk, head, finish = split(module)
    words = model.get_input_embeddings().num_embeddings
    device = model.get_input_embeddings().weight.device
    ids = torch.randint(words, (1, 8), generator=torch.Generator().manual_seed(seed)).to(device)
    training = model.training
    model.eval()
    try:
        whole = model(input_ids=ids, use_cache=False).logits.float()
        halves = finish(head(trunk(input_ids=ids, use_cache=False).last_hidden_state)).float()
    finally:
        model.train(training)
    gap = float((whole - halves).abs().max()) if whole.shape == halves.shape else float("inf")
    if not gap <= tolerance * max(1.0, float(whole.abs().max())):
        raise ValueError(
            f"{type(model).__name__} computes its logits in a way that is not known here: trunk and output layer give "
            f"logits off by {gap:.3g}. Families that are known: a linear output layer, with soft-capped (Gemma), "
            "multiplied (Cohere) or divided (Granite) logits"
        )


class _Widened(nn.Module):
    """The scalar head applied in fp32 to hidden states of any type."""

    def __init__(self, head: nn.Linear) -> None:
        super().__init__()
        self.head = head

    def forward(self, hidden: Tensor) -> Tensor:
        return self.head(hidden.float())  # type: ignore[no-any-return]


def _finisher(model: Any) -> Callable[[Tensor], Tensor]:
    config = model.config.get_text_config()
    if cap := getattr(config, "final_logit_softcapping", None):
        return lambda logits: cap * torch.tanh(logits / cap)
    if scale := getattr(config, "logit_scale", None):
        return lambda logits: logits * scale
    if divisor := getattr(config, "logits_scaling", None):
        return lambda logits: logits / divisor
    return _as_is


def _as_is(logits: Tensor) -> Tensor:
    return logits
