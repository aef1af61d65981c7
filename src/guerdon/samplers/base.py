"""What a sampler is: prompt ids in, spans with the log-probabilities they were really drawn with out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from guerdon.types import IntArray, Span

if TYPE_CHECKING:
    from torch import Tensor

LogitsHook = Callable[["Tensor", IntArray], "Tensor"]
"""(logits [V], ids so far [n]) -> logits [V], applied before temperature and truncation."""


@dataclass(frozen=True)
class Sampling:
    """How to sample: everything that shapes the distribution a token is drawn from, and when to stop.

    temperature: > 0 divides the logits; 0 is greedy (log-probabilities are then 0, and nothing can be learned from
    them). top_k 0, top_p 1 and min_p 0 are off; they are applied in that order, after the temperature.
    stop_tokens end a completion and belong to it; a stop string ends it, its tokens are kept as sampled while the
    text is cut before it. prefix: ids forced at the start of each completion, not counted in max_tokens.
    """

    max_tokens: int = 64
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    stop_tokens: tuple[int, ...] = ()
    stop_strings: tuple[str, ...] = ()
    prefix: tuple[int, ...] = ()
    logits_hook: LogitsHook | None = None
    entropy: bool = False
    top_logprobs: int = 0

    def __post_init__(self) -> None:
        checks = {
            "max_tokens": (self.max_tokens >= 1, "at least 1"),
            "temperature": (self.temperature >= 0, "0 (greedy) or more"),
            "top_p": (0 < self.top_p <= 1, "in (0, 1]"),
            "top_k": (self.top_k >= 0, "0 (off) or more"),
            "min_p": (0 <= self.min_p < 1, "in [0, 1)"),
            "top_logprobs": (self.top_logprobs >= 0, "0 (off) or more"),
        }
        for name, (fine, expected) in checks.items():
            if not fine:
                raise ValueError(f"{name} is {getattr(self, name)}; expected {expected}")

    @property
    def truncated(self) -> bool:
        """Whether some tokens may be ruled out, so that the support has to be recorded for training."""
        return self.top_p < 1 or self.top_k > 0 or self.min_p > 0 or self.logits_hook is not None

    def but(self, **changes: Any) -> Sampling:
        return replace(self, **changes)


@dataclass
class Sample:
    """One completion: spans (a forced prefix if there was one, then what was sampled), why it ended, and its text.

    The first span's parent is -1; whoever hangs the spans into an episode sets it. The sampled span carries
    `extra["temperature"]`, and `support`, `entropy`, `top_ids`/`top_logprobs` ([n, k]) where they apply.
    """

    spans: list[Span]
    stop: Literal["stop", "length"]
    text: str


class Sampler(Protocol):
    """Draws completions. Safe to call from many coroutines at once: requests share one decoding batch."""

    version: int
    """Version of the weights the next token is drawn with; stamped on every span."""

    async def sample(self, prompt: Sequence[int] | IntArray, how: Sampling, seeds: Sequence[int]) -> list[Sample]:
        """One completion per seed. What a seed draws does not depend on what else is being sampled.

        Cancelling the awaiting task cancels its completions.
        """
        ...

    def load(self, weights: Any, version: int) -> None:
        """Take new weights (None: the module is shared and already holds them) and drop every cache."""
        ...
