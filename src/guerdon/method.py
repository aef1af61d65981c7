"""A method is a value: six slots filled with plain functions, composed the way one composes an optimiser.

Terms (what is summed into the loss), the card (what paper this is), roles (which other models take part), and the
`Method` that holds them. `guerdon.learner` is what acts on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from guerdon.reduce import Reduce, token_mean
from guerdon.types import EMPTY, Batch

if TYPE_CHECKING:
    from torch import Tensor

    from guerdon.rewards.base import Reward
    from guerdon.rollouts.base import Rollout
    from guerdon.types import Group

Unit = Literal["sequence", "group", "batch"]
"""What a micro-batch must not cut: a sequence, a group, or the whole batch."""


@runtime_checkable
class Objective(Protocol):
    """A loss per token: no mean, no mask, no distributed code.

    needs: batch streams it reads beyond the fields. wants: likelihood streams it reads (`logp`, `entropy`, ...).
    A loss defined per sequence or group is returned on each of its tokens; the reduction makes it count once.
    inert_without_advantage: the loss has no gradient where the advantage is 0, so that such sequences can be skipped.
    """

    @property
    def needs(self) -> Sequence[str]: ...
    @property
    def wants(self) -> Sequence[str]: ...
    @property
    def unit(self) -> Unit: ...
    @property
    def inert_without_advantage(self) -> bool: ...

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor: ...


@runtime_checkable
class Estimator(Protocol):
    """Batch -> Batch with `advantage` (and whatever else it computes) set; `needs` are the streams it reads.

    min_group: the smallest group it is meaningful for (2 for a group baseline); smaller ones are refused at start.
    """

    @property
    def needs(self) -> Sequence[str]: ...
    @property
    def min_group(self) -> int: ...

    def __call__(self, batch: Batch) -> Batch: ...


Memory = Mapping[str, "Tensor"]
"""What an `Adaptive` knows from earlier batches: tensors by name."""


@runtime_checkable
class Adaptive(Protocol):
    """What a method learns beside its weights: (batch, memory) -> (batch with streams of its own, memory after it).

    Called once per batch, before any gradient step, after the estimator. The learner keeps the memory, reports it, and
    writes it into checkpoints, so that a method stays a value.
    """

    @property
    def needs(self) -> Sequence[str]: ...

    def start(self) -> Memory: ...
    def __call__(self, batch: Batch, memory: Memory) -> tuple[Batch, Memory]: ...


@dataclass(frozen=True)
class Term:
    """One summand of the loss: scale * sum_n w_n * l_n, where w = reduce(batch, mask) over the whole batch."""

    objective: Objective
    reduce: Reduce = token_mean
    scale: float = 1.0
    mask: str = "mask"
    name: str = "policy"


@dataclass(frozen=True)
class Card:
    """Which published method this is. Feeds the documentation, `guerdon methods` and the tests."""

    slug: str
    name: str
    family: Literal["policy", "preference", "supervised", "reward", "agent", "search", "diffusion", "control"]
    paper: str
    summary: str
    differs: str = ""
    """What differs from the paper here, and why."""


@dataclass(frozen=True)
class Heads:
    """What a reward model gives. names: one scalar head each. frozen_trunk: only the heads are trained.

    unit_norm: head weights are centred and brought to norm 1 before use, so that their angles alone count; what is
    saved is that weight.
    """

    names: tuple[str, ...] = ("score",)
    frozen_trunk: bool = False
    unit_norm: bool = False

    def __post_init__(self) -> None:
        if not self.names or len(set(self.names)) < len(self.names):
            raise ValueError(f"heads are called {self.names}; expected at least one name, and no name twice")


@dataclass(frozen=True)
class Role:
    """Another model that takes part in a run.

    start: where its weights come from: 'policy' (a copy of the starting policy) or a model name. shares: the role
    whose weights it is (a judge that is the policy itself). head: 'lm' or 'value'. terms: how it learns on the batch
    of its own episodes (or, for a value model, on the policy's batch); empty means frozen. refresh: after every so many
    updates a frozen role takes over the policy's weights; 0: never.
    """

    start: str = "policy"
    shares: str | None = None
    head: Literal["lm", "value"] = "lm"
    estimator: Estimator | None = None
    terms: tuple[Term, ...] = ()
    lr: float | None = None
    refresh: int = 0

    def __post_init__(self) -> None:
        if self.refresh and (self.refresh < 0 or self.terms or self.shares or self.head != "lm"):
            raise ValueError("refresh is for a frozen copy of the policy: 0 or more, no terms, no shares, head 'lm'")

    @property
    def frozen(self) -> bool:
        return not self.terms


Filter = Callable[["Group"], "Group | None"]


@dataclass(frozen=True)
class Method:
    """A method of learning. Every slot has a default; a published method is this with a few slots filled.

    rollout: how a task becomes a group (None: `samples_per_prompt` single-turn completions). rewards: the method's
    own rewards, added to those of the run. filters: what a group must pass to be trained on. estimator and terms:
    the policy's learning rule. adaptive: what of that rule goes on from batch to batch. roles: the other models.
    scores: what is trained is no policy but a reward model with these heads. epochs and minibatches: passes over a
    batch, and gradient steps per pass.
    """

    terms: tuple[Term, ...]
    estimator: Estimator | None = None
    adaptive: Adaptive | None = None
    rollout: Rollout | None = None
    rewards: tuple[Reward, ...] = ()
    filters: tuple[Filter, ...] = ()
    roles: Mapping[str, Role] = EMPTY
    scores: Heads | None = None
    epochs: int = 1
    minibatches: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The knobs this value was made with, for the run record."""

    def __post_init__(self) -> None:
        if not self.terms:
            raise ValueError("a method needs at least one term")
        for name, number in (("epochs", self.epochs), ("minibatches", self.minibatches)):
            if number < 1:
                raise ValueError(f"{name} is {number}; expected at least 1")
