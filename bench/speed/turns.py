"""A contestant's half of a race: it holds until a line comes in, takes one step, and says what the step took."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator

MARK = '{"step"'
"""How the line begins that answers a turn; libraries may print others."""

MOST = 100
"""Steps that a contestant has prompts for."""


class Turn:
    """One step under way, from the moment the line came in."""

    def __init__(self, device: str = "cpu") -> None:
        self.device = device
        self.begin, self._cpu = time.perf_counter(), time.process_time()

    def answer(self, sample: float = 0.0, **counts: float) -> None:
        """Print the row of this step. sample: seconds of it that went into sampling; counts: tokens and such."""
        import torch

        if self.device != "cpu":
            torch.cuda.synchronize()
        step = time.perf_counter() - self.begin
        times = {"step": step, "cpu": time.process_time() - self._cpu}
        if sample:
            times |= {"sample": sample, "learn": step - sample}
        print(
            json.dumps({**times, **counts, "threads": torch.get_num_threads(), "peak_mb": peak_mb(self.device)}),
            flush=True,
        )


def turns(device: str = "cpu") -> Iterator[Turn]:
    """A turn for every line on standard input."""
    for _ in sys.stdin:
        yield Turn(device)


def peak_mb(device: str) -> float:
    """Most memory this process ever held: resident, or of the GPU."""
    if device != "cpu":
        import torch

        return torch.cuda.max_memory_allocated() / 2**20
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 2**20 if sys.platform == "darwin" else most / 2**10
