"""Numbers about a run: means over what they claim to be means of, merged over micro-batches and ranks.

A `Stat` is a total and a count, so that adding two of them is the statistic of both together, however the samples
were cut. `Log` is the one stream of events: a JSON line on disk always, and any number of sinks beside it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from guerdon.files import write_whole

if TYPE_CHECKING:
    from torch import Tensor

Event = dict[str, Any]
Sink = Callable[[Event], None]
"""Takes every event of a run as it happens: a progress display, TensorBoard, W&B, ..."""


@dataclass(frozen=True)
class Stat:
    """A mean that can be added to: total / count."""

    total: float
    count: float = 1.0

    @property
    def value(self) -> float:
        return self.total / self.count if self.count else float("nan")

    def __add__(self, other: Stat) -> Stat:
        return Stat(self.total + other.total, self.count + other.count)


@dataclass(frozen=True)
class Peak:
    """A maximum that can be added to."""

    value: float

    def __add__(self, other: Peak) -> Peak:
        return Peak(max(self.value, other.value))


@dataclass(frozen=True)
class Total:
    """A sum that can be added to."""

    value: float

    def __add__(self, other: Total) -> Total:
        return Total(self.value + other.value)


Stats = dict[str, "Stat | Peak | Total"]


def merge(parts: Iterable[Stats]) -> Stats:
    """The statistics of all parts together."""
    merged: Stats = {}
    for part in parts:
        for name, stat in part.items():
            merged[name] = merged[name] + stat if name in merged else stat  # type: ignore[operator]
    return merged


def over(values: Tensor, mask: Tensor | None = None) -> Stat:
    """Statistic of a stream [N] over a mask [N] (all rows when None)."""
    chosen = values if mask is None else values[mask]
    return Stat(float(chosen.double().sum()), chosen.numel())


def peak(values: Tensor, mask: Tensor | None = None) -> Peak:
    chosen = values if mask is None else values[mask]
    return Peak(float(chosen.max()) if chosen.numel() else float("-inf"))


def values(stats: Stats) -> dict[str, float]:
    """Plain numbers by name, without those that saw nothing."""
    numbers = {name: stat.value for name, stat in stats.items()}
    return {name: number for name, number in numbers.items() if number == number and abs(number) != float("inf")}


class Busy:
    """Seconds during which at least one of many overlapping blocks was at work, read and reset at once."""

    def __init__(self) -> None:
        self._seconds = self._since = 0.0
        self._open = 0

    def __enter__(self) -> None:
        if not self._open:
            self._since = time.perf_counter()
        self._open += 1

    def __exit__(self, *error: object) -> None:
        self._open -= 1
        if not self._open:
            self._seconds += time.perf_counter() - self._since

    def read(self) -> float:
        seconds, self._seconds = self._seconds, 0.0
        return seconds


class Log:
    """Appends events to `metrics.jsonl` and hands each to the sinks. An event without disk space still reaches them."""

    def __init__(self, path: Path, sinks: Iterable[Sink] = ()) -> None:
        self.path = path
        self.sinks = list(sinks)

    def __call__(self, event: str, **fields: Any) -> None:
        record = {"event": event, "time": time.time(), **fields}
        for sink in self.sinks:
            sink(record)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, default=_plain) + "\n")

    def rewind(self, step: int) -> None:
        """Forget what was logged after `step` steps were done: the resumed run will log it again."""
        kept = [event for event in read_events(self.path) if event.get("step", 0) <= step]
        write_whole(self.path, "".join(json.dumps(event) + "\n" for event in kept))


def read_events(path: Path) -> list[Event]:
    """All whole events of a metrics file; a line cut off by a crash is left out. A missing file has none."""
    if not path.exists():
        return []
    events = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            events.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return events


def _plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.item() if value.numel() == 1 else value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, torch.dtype | Path):
        return str(value)
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written to the log")
