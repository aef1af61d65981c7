"""The nouns of guerdon: what is solved, what was said, what it was worth, and what is trained on.

Plain data, importing nothing of ours. A rollout is a tree of spans; a training sequence is one root-to-leaf path.
Token ids are the record and text is a view of them: nothing here is ever tokenised again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float32]
Message = Mapping[str, Any]
"""One chat message: `role`, `content`, and whatever the chat template reads (`tool_calls`, `name`, ...)."""


class _Empty(Mapping[Any, Any]):
    """The empty mapping: immutable, hashable and picklable, so that it can be the default of a frozen field."""

    def __getitem__(self, key: Any) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "{}"


EMPTY: Mapping[Any, Any] = _Empty()

Status = Literal["right", "wrong", "no_answer", "cannot_tell", "timed_out", "failed"]
STATUSES: tuple[Status, ...] = get_args(Status)
"""right, wrong; no_answer: nothing to judge; cannot_tell: an answer, but undecidable; timed_out; failed: the verifier's
own failure, which says nothing about the completion."""
Stop = Literal["stop", "length", "turns", "tool", "error"]


@dataclass(frozen=True)
class Task:
    """One problem. `prompt` is text, a list of messages, or token ids; `data` is what rewards and rollouts may read."""

    id: str
    prompt: Any
    data: Mapping[str, Any] = EMPTY
    env: str | None = None


@dataclass
class Span:
    """Tokens of one author under one policy version, stored once and never re-tokenised.

    tokens: [n] ids. logprobs: [n] log-probabilities (nats, <= 0) under the distribution each token was really drawn
    from; given iff the policy sampled the span. parent: index of the previous span in the episode, -1 for a root.
    extra: sampling-time streams by name: a scalar, or one value per token (`temperature`, `entropy`, ...), and
    `support`, a list of [k] id arrays: the ids that truncation left to choose from, one array per token.
    """

    tokens: IntArray
    logprobs: FloatArray | None = None
    parent: int = -1
    version: int = 0
    message: Message | None = None
    extra: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        self.tokens = np.asarray(self.tokens, dtype=np.int64)
        if self.logprobs is None:
            return
        self.logprobs = np.asarray(self.logprobs, dtype=np.float32)
        if self.logprobs.shape != self.tokens.shape:
            raise ValueError(
                f"a span needs one log-probability per token: got {self.logprobs.shape} for {self.tokens.shape} tokens"
            )

    @property
    def sampled(self) -> bool:
        """Whether the policy chose these tokens (as opposed to a prompt, a tool's answer or a forced prefix)."""
        return self.logprobs is not None


@dataclass(frozen=True)
class Verdict:
    """What a verifier found, and why; never a bare number. What a status is worth is said elsewhere (`Worth`).

    extracted: the answer it read out of the completion. stage: the step of the verifier that decided (`extract`,
    `number`, `tests`, ...). share: how much of what was asked for is there, in [0, 1], where parts can be counted
    (tests passed, instructions followed).
    """

    status: Status
    reason: str = ""
    extracted: str | None = None
    stage: str = ""
    share: float | None = None

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"unknown verdict status {self.status!r}; expected one of {STATUSES}")
        if self.share is not None and not 0.0 <= self.share <= 1.0:
            raise ValueError(f"share is {self.share}; expected None or 0 to 1")


@dataclass
class Score:
    """What one reward says about one episode. `value=None` is 'does not apply', which is not zero.

    value lands on the last action of every path; spans[i] on span i's last action; tokens[i] ([n]) on span i's tokens.
    parts: named components for people to read. episodes: a judge's own generations, trainable under their role.
    """

    value: float | None = None
    spans: Mapping[int, float] = EMPTY
    tokens: Mapping[int, FloatArray] = EMPTY
    verdict: Verdict | None = None
    parts: Mapping[str, float] = EMPTY
    episodes: tuple[Episode, ...] = ()

    @property
    def applies(self) -> bool:
        return self.value is not None or bool(self.spans) or bool(self.tokens)

    def total(self) -> float:
        """The episode's return from this reward when it has one path; None counts as 0."""
        tokens = sum(float(np.sum(v)) for v in self.tokens.values())
        return (self.value or 0.0) + sum(self.spans.values()) + tokens


@dataclass
class Episode:
    """One attempt at a task: spans in topological order, and what rewards said about it.

    sampled_from: the prompt ids the sampler saw where they differ from the training prompt (hints).
    notes: provenance (guided, attempt, branch, reward versions, ...).
    """

    task: Task
    spans: list[Span]
    scores: dict[str, Score] = field(default_factory=dict)
    role: str = "policy"
    stop: Stop = "stop"
    sampled_from: IntArray | None = None
    notes: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        for index, span in enumerate(self.spans):
            if not -1 <= span.parent < index:
                raise ValueError(
                    f"task {self.task.id}: span {index} has parent {span.parent}; a parent comes before its child"
                )

    def paths(self) -> list[list[int]]:
        """Root-to-leaf paths as span indices, leaves in order."""
        inner = {span.parent for span in self.spans}
        return [self._path_to(leaf) for leaf in range(len(self.spans)) if leaf not in inner]

    def _path_to(self, index: int) -> list[int]:
        path = []
        while index >= 0:
            path.append(index)
            index = self.spans[index].parent
        return path[::-1]

    @property
    def reply(self) -> str:
        """Text of the last message the policy wrote; '' when it wrote none."""
        for span in reversed(self.spans):
            if span.sampled and span.message is not None:
                return str(span.message.get("content") or "")
        return ""

    @property
    def sampled_tokens(self) -> int:
        return sum(len(span.tokens) for span in self.spans if span.sampled)


Group = list[Episode]
"""Episodes of one task, any size >= 1: what rewards, filters and baselines see together."""


@dataclass(frozen=True)
class Pair:
    """A preference: `chosen` is better than `rejected` by `margin` (> 0, in reward units)."""

    chosen: Episode
    rejected: Episode
    margin: float = 1.0

    def group(self, name: str = "preference") -> Group:
        """The two episodes as a group whose returns differ by the margin, which is all a preference loss needs."""
        better = replace(self.chosen, scores={**self.chosen.scores, name: Score(self.margin / 2)})
        worse = replace(self.rejected, scores={**self.rejected.scores, name: Score(-self.margin / 2)})
        return [better, worse]


@dataclass(frozen=True)
class Batch:
    """Flat and ragged over N tokens: every path laid end to end, nothing padded, every stream aligned to its token.

    N counts every token of every path, prompts too; `mask` says which of them are actions (chosen by the policy).
    Rows of one sequence are contiguous and in order; `seq`, `episode` and `group` are ids, not necessarily dense
    after `select`. Two rows with the same `span` id and position are one token seen on two paths.
    """

    inputs: Mapping[str, Tensor]
    """What the likelihood reads, each [N, ...]; `tokens` [N] for language models."""
    mask: Tensor
    """[N] bool: the policy chose this token."""
    seq: Tensor
    episode: Tensor
    group: Tensor
    span: Tensor
    behavior: Tensor
    """[N] log-probability under the policy that sampled it; 0 where not sampled."""
    version: Tensor
    """[N] version of the policy that sampled it."""
    reward: Tensor
    """[N]; sums over a path to that path's return."""
    share: Tensor
    """[N] 1/k for a span on k paths, so that every action has total share 1."""
    advantage: Tensor | None = None
    """[N]; None until an estimator assigned it."""
    extra: Mapping[str, Tensor] = EMPTY
    """Further streams, each [N, ...]: `ref`, `old`, `value`, `correction`, `temperature`, `support`, `hinted`, ..."""

    def __len__(self) -> int:
        return int(self.seq.shape[0])

    def stream(self, name: str) -> Tensor:
        """A stream by name, from the fields or from `extra`; KeyError lists what there is."""
        value = getattr(self, name, None) if name in _STREAMS else self.extra.get(name)
        if value is None:
            have = sorted([n for n in _STREAMS if getattr(self, n) is not None] + list(self.extra))
            raise KeyError(f"the batch has no stream {name!r}; it has {have}. Declare it in `needs` to have it filled")
        return value

    def has(self, name: str) -> bool:
        return name in self.extra or (name in _STREAMS and getattr(self, name) is not None)

    def put(self, **streams: Tensor) -> Batch:
        """A batch with these streams set (fields by their name, anything else into `extra`)."""
        fields: dict[str, Any] = {k: v for k, v in streams.items() if k in _STREAMS}
        extra = {k: v for k, v in streams.items() if k not in _STREAMS}
        return replace(self, **fields, extra={**self.extra, **extra})

    def select(self, rows: Tensor) -> Batch:
        """The batch of these rows ([M] indices or [N] bool), every stream taken along; ids are kept."""
        fields = {n: getattr(self, n)[rows] for n in _STREAMS if getattr(self, n) is not None}
        inputs = {k: v[rows] for k, v in self.inputs.items()}
        return replace(self, inputs=inputs, **fields, extra={k: v[rows] for k, v in self.extra.items()})

    def to(self, device: Any) -> Batch:
        fields = {n: getattr(self, n).to(device) for n in _STREAMS if getattr(self, n) is not None}
        inputs = {k: v.to(device) for k, v in self.inputs.items()}
        return replace(self, inputs=inputs, **fields, extra={k: v.to(device) for k, v in self.extra.items()})


_STREAMS = ("mask", "seq", "episode", "group", "span", "behavior", "version", "reward", "share", "advantage")
