"""What this machine can do at most: matrix products in the shapes of S and T, and bytes of memory read and copied."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import linear

from speed.job import Job, found, tell

SHAPES = {
    "large": (2048, 2048, 2048),
    "S decode": (32, 576, 1536),
    "S train": (1696, 576, 1536),
    "S head": (32, 576, 49152),
    "S head in training": (341, 576, 49152),
    "T decode": (256, 256, 704),
    "T train": (6336, 256, 704),
}
"""rows, inputs, outputs of a product; the first two layers' shapes stand for all of a body."""

BLOCK = 0.1
"""Seconds of a block of calls that is timed as one."""


def main() -> None:
    job = Job.given()
    shapes = {"large": (128, 128, 128)} if job.small else SHAPES
    result: dict[str, Any] = {"threads": torch.get_num_threads(), "gflops": {}}
    for dtype in ("float32", "bfloat16"):
        rates = {name: gflops(*shape, getattr(torch, dtype), job.rounds) for name, shape in shapes.items()}
        result["gflops"][dtype] = rates
        tell(f"  {dtype}: {rates}")
    result["gb_per_second"] = bandwidth(2**20 if job.small else 2**27, job.rounds)
    found(result)


@torch.no_grad()
def gflops(rows: int, inputs: int, outputs: int, dtype: torch.dtype, rounds: int) -> float:
    """Rate of x @ w.T, 10^9 operations per second."""
    x, w = torch.randn(rows, inputs).to(dtype), torch.randn(outputs, inputs).to(dtype)
    return round(2 * rows * inputs * outputs / seconds(lambda: linear(x, w), rounds) / 1e9, 1)


def bandwidth(numbers: int, rounds: int) -> dict[str, float]:
    """Bytes read by a sum, and read and written by a copy, of what no cache holds; 10^9 per second."""
    a = torch.ones(numbers)
    b = torch.empty_like(a)
    read, copied = seconds(a.sum, rounds), seconds(lambda: b.copy_(a), rounds)
    return {"read": round(a.nbytes / read / 1e9, 1), "copy": round(2 * a.nbytes / copied / 1e9, 1)}


def seconds(call: Callable[[], Any], rounds: int) -> float:
    """Seconds of a call: the median over blocks."""
    call()
    begin = time.perf_counter()
    call()
    calls = max(1, int(BLOCK / max(time.perf_counter() - begin, 1e-7)))
    blocks = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        blocks.append((time.perf_counter() - begin) / calls)
    return statistics.median(blocks)


if __name__ == "__main__":
    main()
