"""How peak memory of log-probability, entropy and mean log-probability grows with length, for two vocabularies.

Each point is a process of its own (`speed.alone.memory_point`): forward and backward over one sequence through a trunk
so narrow that the output layer is all there is to it; beside it the same from full logits, where these fit.
"""

from __future__ import annotations

import json
import signal
import statistics
import subprocess
import sys
from typing import Any

from speed.entries import environment
from speed.job import Job, found, tell

LENGTHS = (256, 512, 1024, 2048, 4096, 8192)
VOCABULARIES = (49152, 151936)
COPIES = 6
"""Tensors of the size of all logits that the plain way holds at its peak, to say beforehand whether it fits."""


def main() -> None:
    job = Job.given()
    lengths, vocabularies = ((64, 128), (4096,)) if job.small else (LENGTHS, VOCABULARIES)
    result: dict[str, Any] = {}
    for vocab in vocabularies:
        curves = {way: curve(way, lengths, vocab) for way in ("chunked", "full logits")}
        grown = growth(curves["chunked"])
        result[str(vocab)] = {**curves, "bytes_per_token": round(grown), "rows_per_token": round(grown / vocab / 4, 4)}
    found({"lengths": list(lengths), "vocabularies": result})


def curve(way: str, lengths: tuple[int, ...], vocab: int) -> list[dict[str, Any] | None]:
    """A point per length; None where it would not fit into what is free."""
    points: list[dict[str, Any] | None] = []
    for length in lengths:
        if way == "full logits" and COPIES * length * vocab * 4 > 0.8 * free_bytes():
            points.append(None)
            continue
        point = measure(way, length, vocab)
        points.append(point)
        told = "does not fit" if point is None else f"{point['grown_mb']:.0f} MB more, {point['seconds']:.1f} s"
        tell(f"  {way}, vocabulary {vocab}, {length} tokens: {told}")
    return points


def measure(way: str, length: int, vocab: int) -> dict[str, Any] | None:
    """One point; None where the system killed it for its memory."""
    told = json.dumps({"way": way, "length": length, "vocab": vocab})
    command = [sys.executable, "-m", "speed.alone.memory_point", told]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment(ours=True))
    if done.returncode == -signal.SIGKILL:
        return None
    done.check_returncode()
    point: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return point


def growth(points: list[dict[str, Any] | None]) -> float:
    """Bytes of peak memory per further token, by least squares over the longer half of the lengths."""
    half = [point for point in points if point][len(points) // 2 - 1 :]
    lengths, grown = [p["length"] for p in half], [p["grown_mb"] * 2**20 for p in half]
    return statistics.linear_regression(lengths, grown).slope


def free_bytes() -> int:
    with open("/proc/meminfo") as file:
        fields = dict(line.split(":") for line in file)
    return int(fields["MemAvailable"].split()[0]) * 1024


if __name__ == "__main__":
    main()
