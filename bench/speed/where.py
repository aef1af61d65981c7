"""Where a process spends its time: a timer interrupts it, and the time since is put down to what it was doing.

The stack is read from the inside out, up to the first frame that belongs to the model or to guerdon. A long operation
is one sample with all of its time; short ones are met as often as they are long. Python's own code is met as it comes.
"""

from __future__ import annotations

import signal
import time
from collections import defaultdict
from pathlib import Path
from types import CodeType, FrameType
from typing import Self

import guerdon

INTERVAL = 0.001
"""Seconds between two interrupts; each costs about 1% of that."""

MODEL = "model"
OUTSIDE = "outside"

AUTOGRAD = ("torch/autograd/", "torch/optim/", "torch/nn/utils/clip_grad.py")
"""Backward passes and optimiser steps, by whom they are asked for."""

OURS = ("guerdon/blocks/", "guerdon/models/", "guerdon/samplers/", "guerdon/likelihoods/")
"""Folders of guerdon that compute with the model."""

BESIDE = (
    *("guerdon/blocks/layout.py", "guerdon/models/attention.py", "guerdon/likelihoods/packing.py"),
    *("guerdon/samplers/local.py", "guerdon/samplers/request.py", "guerdon/samplers/text.py"),
)
"""Their files that do not: layouts and masks, scheduling and records of what was sampled."""

Place = tuple[str, str]
"""(MODEL or OUTSIDE, file)."""


class Where:
    """While it is entered, `seconds` grows by place. For the main thread only."""

    def __init__(self, interval: float = INTERVAL) -> None:
        self.seconds: dict[Place, float] = defaultdict(float)
        self._interval = interval
        self._known: dict[CodeType, Place | None] = {}
        self._last = 0.0

    def __enter__(self) -> Self:
        self._last = time.perf_counter()
        self._before = signal.signal(signal.SIGALRM, self._tick)
        signal.setitimer(signal.ITIMER_REAL, self._interval, self._interval)
        return self

    def __exit__(self, *error: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, self._before)

    def read(self) -> dict[Place, float]:
        """What was put down since the last reading."""
        seconds, self.seconds = self.seconds, defaultdict(float)
        return seconds

    def _tick(self, number: int, frame: FrameType | None) -> None:
        now = time.perf_counter()
        self.seconds[self._place(frame)] += now - self._last
        self._last = now

    def _place(self, frame: FrameType | None) -> Place:
        while frame is not None:
            code = frame.f_code
            if code not in self._known:
                self._known[code] = place(code.co_filename)
            found = self._known[code]
            if found is not None:
                return found
            frame = frame.f_back
        return OUTSIDE, "elsewhere"


def place(file: str) -> Place | None:
    """What a file is counted as; None: as whoever called it."""
    for start in AUTOGRAD:
        if f"/{start}" in file:
            return MODEL, start.rstrip("/")
    if "/transformers/" in file:
        return None if "/tokenization" in file or "/utils/" in file else (MODEL, "transformers")
    if not file.startswith(PACKAGE):
        return None
    name = f"guerdon/{file.removeprefix(PACKAGE)}"
    return MODEL if name.startswith(OURS) and name not in BESIDE else OUTSIDE, name


PACKAGE = f"{Path(guerdon.__file__).parent.as_posix()}/"
