"""Shaping: rewards that depend on the form of an episode rather than on whether it is right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from guerdon.types import Group, Score

if TYPE_CHECKING:
    from guerdon.rollouts.base import Context


@dataclass(frozen=True)
class Overlong:
    """min(0, -factor (L - (max_tokens - buffer)) / buffer), L sampled tokens (DAPO, Yu et al. 2025, eq. 13).

    0 up to max_tokens - buffer, then falling linearly to -factor at max_tokens. max_tokens 16, buffer 4: L = 12, 14, 16
    give 0, -0.5, -1.
    """

    max_tokens: int
    buffer: int
    factor: float = 1.0
    name = "overlong"
    weight = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.buffer <= self.max_tokens:
            raise ValueError(f"buffer is {self.buffer}; expected 1 to max_tokens ({self.max_tokens})")

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        return [Score(self.value(episode.sampled_tokens)) for episode in group]

    def value(self, length: int) -> float:
        """The penalty of a completion of this many tokens."""
        return min(0.0, -self.factor * (length - (self.max_tokens - self.buffer)) / self.buffer)
