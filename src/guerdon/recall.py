"""What frozen models said of texts that come again: kept, so that each text is put to each model once.

Rows of a data set come again in every pass over it. What the policy sampled does not, and is never kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from guerdon.advantages.segments import segments
from guerdon.types import Batch

LIMIT = 1 << 26
"""Tokens that are kept, all models together: 256 MB."""

KEY_BYTES = 16

Ask = Callable[[Batch], Tensor]
"""What a frozen model says of each token of a batch, 0 off the mask: [N]."""


@dataclass
class Recall:
    """kept: what was said of the actions of a sequence, [actions] float32, by a digest of model and sequence.

    limit: tokens that are kept; beyond it nothing is added, and nothing is forgotten, since a text that was just seen
    is the last to come again.
    """

    limit: int = LIMIT
    kept: dict[bytes, Tensor] = field(default_factory=dict)
    tokens: int = 0

    def __call__(self, role: str, batch: Batch, ask: Ask) -> Tensor:
        """What the model of this role says of the batch; it is asked about what it has not seen. [N]"""
        sequences = segments(batch.seq)
        drawn = sequences.sum((batch.mask & (batch.behavior != 0)).long()) > 0  # [S]
        if bool(drawn.all()):
            return ask(batch)
        parts = _runs(sequences.index, sequences.count)
        keys = [None if out else _key(role, batch, rows) for out, rows in zip(drawn.tolist(), parts, strict=True)]
        unknown = [rows for key, rows in zip(keys, parts, strict=True) if key is None or key not in self.kept]
        found = torch.zeros(len(batch))
        if unknown:
            rows = torch.cat(unknown).sort().values
            found[rows] = ask(batch.select(rows))
        for key, rows in zip(keys, parts, strict=True):
            actions = rows[batch.mask[rows]]
            if key is not None and key in self.kept:
                found[actions] = self.kept[key]
            elif key is not None:
                self._keep(key, found[actions])
        return found

    def _keep(self, key: bytes, values: Tensor) -> None:
        if self.tokens + len(values) <= self.limit:
            self.kept[key] = values.clone()
            self.tokens += len(values)

    def state(self) -> dict[str, Tensor]:
        """All that is kept as three tensors: keys [K, 16] uint8, lengths [K] and values [sum of lengths]."""
        values = list(self.kept.values())
        return {
            "keys": torch.frombuffer(bytearray(b"".join(self.kept)), dtype=torch.uint8).view(-1, KEY_BYTES),
            "lengths": torch.tensor([len(one) for one in values]),
            "values": torch.cat(values),
        }

    def restore(self, state: dict[str, Any]) -> None:
        parts = torch.split(state["values"], state["lengths"].tolist())
        keys = [bytes(key.tolist()) for key in state["keys"]]
        self.kept = {key: part.clone() for key, part in zip(keys, parts, strict=True)}
        self.tokens = len(state["values"])


def _runs(index: Tensor, count: int) -> list[Tensor]:
    """Rows of each sequence, in order."""
    order = torch.argsort(index, stable=True)
    return list(torch.split(order, torch.bincount(index, minlength=count).tolist()))


def _key(role: str, batch: Batch, rows: Tensor) -> bytes:
    """A digest of everything that a log-probability depends on."""
    read = [batch.inputs["tokens"], batch.mask, *(batch.extra[n] for n in ("temperature", "support") if batch.has(n))]
    digest = hashlib.blake2b(role.encode(), digest_size=KEY_BYTES)
    for stream in read:
        digest.update(stream[rows].numpy().tobytes())
    return digest.digest()
