"""The likelihood of reward models: scores by head, read at the tokens of the reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from guerdon.likelihoods.autoregressive import spread
from guerdon.likelihoods.states import states
from guerdon.method import Heads
from guerdon.models.heads import trunk_in
from guerdon.models.reward import weight_of
from guerdon.types import Batch

OVERLAP = "overlap"
"""A stream that says nothing of the tokens: how much the heads look the same way (`overlap`)."""


@dataclass(frozen=True)
class Scores:
    """A stream [N] per head: its score of everything up to and with each token of the reply; 0 elsewhere.

    The score of a whole reply is that at its last token (`losses.reward_model.at_last`). `OVERLAP` is on every token.
    """

    heads: Heads = field(default_factory=Heads)

    def __call__(self, module: Any, batch: Batch, wants: Sequence[str]) -> dict[str, Tensor]:
        unknown = [name for name in wants if name not in (*self.heads.names, OVERLAP)]
        if unknown:
            raise KeyError(f"a reward model gives {[*self.heads.names, OVERLAP]}; asked for {unknown}")
        hidden, actions, inverse = reply_states(trunk_in(module), batch)
        weight = weight_of(module, self.heads).float()
        scores = hidden.float() @ weight.T  # [A, K]
        columns = {name: scores[:, i] for i, name in enumerate(self.heads.names)}
        if OVERLAP in wants:
            columns[OVERLAP] = overlap(weight).expand(len(scores))
        return {name: spread(columns[name], actions, inverse, batch) for name in wants}


def overlap(weight: Tensor) -> Tensor:
    """Sum over pairs of heads of |cos| of the angle between their weights, 0 to K (K - 1) / 2. [K, H] -> []

    (1, 2, 3) and (1, 1, 0): 0.5669; each less its mean: 0.8660.
    """
    unit = weight / weight.norm(dim=1, keepdim=True)
    cosines: Tensor = unit @ unit.T
    return cosines.triu(1).abs().sum()


def reply_states(trunk: Any, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    """Hidden states [A, H] after each distinct token of a reply, a batch row of each [A], distinct token [N]."""
    found = states(trunk, trunk.config, batch)
    wanted = batch.mask[found.first]  # [U]
    return found.at(found.slot[wanted]), found.first[wanted], found.inverse
