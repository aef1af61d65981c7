"""Shaping: rewards that depend on the length of an episode, or on how it repeats itself, rather than on its answer."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from guerdon.rewards.words import words
from guerdon.types import Episode, Group, Score

if TYPE_CHECKING:
    from guerdon.rollouts.base import Context

Unit = Literal["words", "tokens"]


@dataclass(frozen=True)
class Overlong:
    """min(0, -factor (L - (max_tokens - buffer)) / buffer), L sampled tokens (DAPO, Yu et al. 2025, eq. 13).

    0 up to max_tokens - buffer, then falling linearly to -factor at max_tokens. max_tokens 16, buffer 4: L = 12, 14, 16
    give 0, -0.5, -1.
    """

    max_tokens: int
    buffer: int
    factor: float = 1.0
    name: str = "overlong"
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.buffer <= self.max_tokens:
            raise ValueError(f"buffer is {self.buffer}; expected 1 to max_tokens ({self.max_tokens})")

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        return [Score(self.value(episode.sampled_tokens)) for episode in group]

    def value(self, length: int) -> float:
        """The penalty of a completion of this many tokens."""
        return min(0.0, -self.factor * (length - (self.max_tokens - self.buffer)) / self.buffer)


@dataclass(frozen=True)
class LengthPenalty:
    """-min(most, per_token |L - target|), L sampled tokens: in [-most, 0].

    target 0: each token costs per_token. per_token 0.01, target 100: L = 100, 130, 70, 1000 give 0, -0.3, -0.3, -1.
    """

    per_token: float
    target: int = 0
    most: float = 1.0
    name: str = "length"
    weight: float = 1.0

    def __post_init__(self) -> None:
        for key in ("per_token", "target", "most"):
            if not getattr(self, key) >= 0:
                raise ValueError(f"{key} is {getattr(self, key)}; expected 0 or more")

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        return [Score(self.value(episode.sampled_tokens)) for episode in group]

    def value(self, length: int) -> float:
        """The penalty of a completion of this many tokens."""
        return 0.0 - min(self.most, self.per_token * abs(length - self.target))


@dataclass(frozen=True)
class Repetition:
    """Minus the share of n-grams that stand earlier in the text already: in (-1, 0], 0 for fewer than n units.

    unit: the words of the last reply (caseless, in any script), or its sampled tokens, all turns counted, no n-gram
    across two of them. 'a b a b a' with n = 2: ab, ba, ab, ba, of which two are repeated, so -0.5.
    """

    n: int = 3
    unit: Unit = "words"
    name: str = "repetition"
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ValueError(f"n is {self.n}; expected 1 or more")
        if self.unit not in get_args(Unit):
            raise ValueError(f"unit is {self.unit!r}; expected one of {', '.join(get_args(Unit))}")

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        return [Score(self.value(self._texts(episode))) for episode in group]

    def value(self, texts: Sequence[Sequence[Hashable]]) -> float:
        """The penalty of texts as lists of units, n-grams counted over all of them."""
        grams = [tuple(text[i : i + self.n]) for text in texts for i in range(len(text) - self.n + 1)]
        return len(set(grams)) / len(grams) - 1.0 if grams else 0.0

    def _texts(self, episode: Episode) -> list[Sequence[Hashable]]:
        if self.unit == "words":
            return [words(episode.reply.casefold())]
        return [span.tokens.tolist() for span in episode.spans if span.sampled]
