"""Hidden states of every distinct token of a batch: flat where the model's layers are known, else in padded rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from guerdon.blocks import flat, stack
from guerdon.blocks.layout import lay_out
from guerdon.likelihoods.packing import layout
from guerdon.models.attention import attention
from guerdon.types import Batch


@dataclass(frozen=True)
class States:
    """hidden [S, H] of S places. Per distinct token [U]: slot, its place; before, its predecessor's (-1 for none);
    first, a batch row that holds it. inverse [N]: the distinct token of each batch row."""

    hidden: Tensor
    slot: Tensor
    before: Tensor
    first: Tensor
    inverse: Tensor

    def at(self, places: Tensor) -> Tensor:
        """Hidden states [A, H] at places [A]."""
        return self.hidden.index_select(0, places.to(self.hidden.device))


def states(trunk: Any, config: Any, batch: Batch) -> States:
    """What the trunk of a transformers model computes for a batch, each distinct token once."""
    known = stack.find(trunk)
    if known is not None:
        row = lay_out(batch)
        return States(flat.forward(known, row), row.slot, row.before, row.first, row.inverse)
    plan = layout(batch)
    parameter = next(trunk.parameters())
    place = plan.place.to(parameter.device)
    visible = None if plan.visible is None else plan.visible.to(parameter.device)
    hidden = trunk(
        input_ids=plan.tokens.to(parameter.device),
        attention_mask=attention(config, visible, place, place, parameter.dtype),
        position_ids=place,
        use_cache=False,
    ).last_hidden_state  # [R, L, H]
    return States(hidden.flatten(0, 1), plan.slot, plan.before, plan.first, plan.inverse)
