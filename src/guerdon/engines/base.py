"""What an engine is: four verbs over flat batches, blind to the algorithm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from torch import Tensor

    from guerdon.method import Term
    from guerdon.metrics import Stats
    from guerdon.types import Batch


class Engine(Protocol):
    """Holds one model and, if it learns, its optimiser."""

    def forward(self, batch: Batch, wants: Sequence[str]) -> Mapping[str, Tensor]:
        """Streams [N] of the current weights without gradient (`logp`, `entropy`, `value`, ...); 0 off the mask."""
        ...

    def forward_backward(self, batch: Batch, terms: Sequence[Term]) -> Stats:
        """Accumulate the gradient of sum_terms scale * sum_n w_n * l_n, each w computed over this whole batch."""
        ...

    def step(self) -> Stats:
        """Clip, apply the optimiser and the schedule, zero the gradient. Raises `NotFinite` before touching weights."""
        ...

    def weights(self) -> Any:
        """What a sampler's `load` takes."""
        ...

    def follow(self, other: Engine) -> None:
        """Take over the other's weights, for a frozen model that is a copy of what the other trains."""
        ...

    def save(self, folder: Path) -> None:
        """Write a Hugging Face folder plus the optimiser and schedule, enough for `restore` to continue exactly."""
        ...

    def restore(self, folder: Path) -> None: ...


class NotFinite(RuntimeError):
    """A loss or gradient was NaN or infinite; the weights are as before the step."""
