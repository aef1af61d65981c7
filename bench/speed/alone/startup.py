"""Seconds from a command to its end, `guerdon --help` and `train --dry-run` in turn, compiled files at hand."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from speed.entries import environment
from speed.job import Job, found, tell

COMMANDS = {"help": ["--help"], "dry-run": ["train", "--dry-run"]}


def main() -> None:
    job = Job.given()
    scratch = Path(job.scratch)
    # Byte code goes to a place of its own, so that the first run makes it and every counted run finds it.
    settings = {**environment(ours=True), "PYTHONPYCACHEPREFIX": str(scratch / "compiled")}
    settings.pop("PYTHONDONTWRITEBYTECODE", None)
    program = str(Path(sys.executable).with_name("guerdon"))
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for number in range(job.rounds + 1):
        for name, words in COMMANDS.items():
            begin = time.perf_counter()
            subprocess.run([program, *words], check=True, capture_output=True, env=settings, cwd=scratch)
            took = time.perf_counter() - begin
            tell(f"  round {number}{'' if number else ' (not counted)'} {name}: {took:.2f} s")
            if number:
                times[name].append(took)
    found(
        {
            "seconds": {name: round(statistics.median(took), 3) for name, took in times.items()},
            "rounds": {name: [round(one, 3) for one in took] for name, took in times.items()},
        }
    )


if __name__ == "__main__":
    main()
