"""The protocol that compared models share, and what is kept of each decode."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import guerdon
from guerdon.evaluation.protocol.stance import Reading
from guerdon.samplers.base import Sampling

if TYPE_CHECKING:
    from guerdon.rewards.base import Reward
    from guerdon.types import Task


@dataclass(frozen=True)
class Protocol:
    """What models must share for their numbers to be compared. Two evaluations are comparable iff it is equal.

    tasks, split: what is asked. items, version, prompts: how many items, a hash of them and one of their prompts.
    verifier: the scorer's name with a hash of its code. decoding: without stop tokens, which are each model's own.
    chat_template: as in `Options`; None: where the tokenizer has one. reading: what counts as a refusal. decodes: m,
    per item. seed: of the decodes.
    """

    tasks: str
    items: int
    version: str
    prompts: str
    verifier: str
    decoding: Sampling
    reading: Reading = field(default_factory=Reading)
    chat_template: bool | None = None
    decodes: int = 32
    seed: int = 0
    split: str = "heldout"

    def __post_init__(self) -> None:
        if self.decodes < 1 or self.items < 1:
            raise ValueError(f"{self.decodes} decodes of {self.items} items; expected at least one of each")
        if self.decoding.stop_tokens or self.decoding.prefix or self.decoding.logits_hook is not None:
            raise ValueError("decoding has stop tokens, a prefix or a logits hook, which are each model's own")

    def as_dict(self) -> dict[str, Any]:
        """The provenance record, with the version of this package."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        decoding = {k: v for k, v in asdict(self.decoding).items() if k in DECODING}
        return {**plain, "decoding": decoding, "reading": asdict(self.reading), "guerdon": guerdon.__version__}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Protocol:
        """What `as_dict` gave, perhaps through JSON."""
        given = {f.name: found[f.name] for f in fields(cls)}
        decoding = Sampling(**{k: _tuples(v) for k, v in found["decoding"].items()})
        reading = Reading(**{k: _tuples(v) for k, v in found["reading"].items()})
        return cls(**{**given, "decoding": decoding, "reading": reading})


DECODING = ("max_tokens", "temperature", "top_p", "top_k", "min_p", "stop_strings")
"""Fields of `Sampling` that are the protocol's."""


def _tuples(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@dataclass(frozen=True)
class Decode:
    """One decode of one item.

    answer: what was extracted; None where there is nothing to judge. status: the verifier's word, None for a plain
    number. refused, confidence: see `Reading`. tokens: sampled ones. entropy: mean of its tokens in nats, None where
    not measured. correct: what the verifier says. answerable: whether the item has an answer (`answerable` in its
    data).
    """

    item: str
    number: int
    seed: int
    text: str
    answer: str | None
    status: str | None
    refused: bool
    confidence: float | None
    tokens: int
    truncated: bool
    correct: bool
    answerable: bool = True
    entropy: float | None = None

    @property
    def attempted(self) -> bool:
        """An answer could be extracted, and it does not decline to give one."""
        return self.answer is not None and not self.refused

    @property
    def right(self) -> bool:
        """Attempted and correct: what accuracy counts."""
        return self.attempted and self.correct


@dataclass(frozen=True)
class Evaluated:
    """A model's decodes under a protocol, and the faults that rewards had."""

    protocol: Protocol
    decodes: Sequence[Decode]
    faults: Sequence[str] = ()

    def by_item(self) -> dict[str, list[Decode]]:
        """Decodes of each item, in order of their number; ValueError when an item has none or more than others."""
        found: dict[str, list[Decode]] = {}
        for one in sorted(self.decodes, key=lambda one: one.number):
            found.setdefault(one.item, []).append(one)
        sizes = {len(decodes) for decodes in found.values()}
        if not found or len(sizes) > 1:
            raise ValueError(f"items have {sorted(sizes)} decodes; expected one number of them for all, at least 1")
        return found

    def first(self, decodes: int) -> Evaluated:
        """As if only so many decodes per item had been drawn."""
        kept = [one for one in self.decodes if one.number < decodes]
        return Evaluated(replace(self.protocol, decodes=decodes), kept, self.faults)


def same_protocol(first: Evaluated, second: Evaluated) -> None:
    """ValueError, naming what differs, unless both were evaluated under one protocol."""
    a, b = first.protocol.as_dict(), second.protocol.as_dict()
    differing = [name for name in a if a[name] != b[name]]
    if differing:
        told = ", ".join(f"{name} ({a[name]!r} and {b[name]!r})" for name in differing)
        raise ValueError(f"evaluated under different protocols, which cannot be compared: they differ in {told}")


def protocol_of(
    name: str,
    tasks: Sequence[Task],
    reward: Reward,
    decoding: Sampling,
    decodes: int = 32,
    seed: int = 0,
    reading: Reading | None = None,
    chat_template: bool | None = None,
) -> Protocol:
    """The protocol of these held-out tasks with this scorer. ValueError when there are none, or an id occurs twice."""
    if len({task.id for task in tasks}) < len(tasks):
        raise ValueError("two items have the same id; expected each once")
    return Protocol(
        tasks=name,
        items=len(tasks),
        version=fingerprint([[task.id, task.prompt, dict(task.data)] for task in tasks]),
        prompts=fingerprint([task.prompt for task in tasks]),
        verifier=verifier_version(reward),
        decoding=decoding,
        reading=reading or Reading(),
        chat_template=chat_template,
        decodes=decodes,
        seed=seed,
    )


def fingerprint(value: Any) -> str:
    """A hash of plain data: equal data, equal hash on every machine."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


def verifier_version(reward: Reward) -> str:
    """NAME@HASH over the scorer's settings and the files that its class, and functions it holds, are written in."""
    held: list[Any] = [getattr(reward, f.name) for f in fields(reward)] if is_dataclass(reward) else []
    written = [type(reward), *(one for one in held if inspect.isfunction(one))]
    if inspect.isfunction(reward):
        written.append(reward)
    settings = re.sub(r" at 0x[0-9a-f]+", "", repr(reward))
    return f"{reward.name}@{fingerprint([settings, [_source(one) for one in written]])}"


def _source(of: Any) -> str:
    try:
        return Path(inspect.getfile(of)).read_text(encoding="utf-8")
    except (OSError, TypeError):
        return repr(of)
