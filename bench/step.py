"""Whole GRPO steps of guerdon and of TRL in turn: python bench/step.py S --rounds 5 [--only guerdon]

Prints one line per round, then medians and their ratio, and writes bench/results/step-WORKLOAD.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CONTESTANTS = ("guerdon", "trl")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", choices=["S", "T"])
    parser.add_argument("--rounds", type=int, default=5, help="counted steps of each")
    parser.add_argument("--warmup", type=int, default=1, help="steps of each before that")
    parser.add_argument("--only", choices=CONTESTANTS)
    given = parser.parse_args()
    names = [given.only] if given.only else list(CONTESTANTS)
    with tempfile.TemporaryDirectory() as scratch:
        racing = {name: start(name, given.workload, scratch) for name in names}
        rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        for number in range(given.warmup + given.rounds):
            for name, process in racing.items():
                row = take_step(process)
                print(f"round {number} {name}: {row['step']:.2f} s", file=sys.stderr)
                if number >= given.warmup:
                    rounds[name].append(row)
        for process in racing.values():
            process.stdin.close()
            process.wait(timeout=60)
    result = {"workload": given.workload, "date": time.strftime("%Y-%m-%d"), "machine": machine()}
    result["contestants"] = {name: summary(rows) for name, rows in rounds.items()}
    if len(names) == 2:
        ours, theirs = (result["contestants"][name] for name in CONTESTANTS)
        result["times_as_fast"] = {k: round(theirs[k] / ours[k], 3) for k in ("step", "sample", "learn")}
        result["share_of_peak_memory"] = round(ours["peak_mb"] / theirs["peak_mb"], 3)
    out = HERE / "results" / f"step-{given.workload}.json"
    out.parent.mkdir(exist_ok=True)
    if len(names) == 2:
        out.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


def start(name: str, workload: str, scratch: str) -> Any:
    command = [sys.executable, str(HERE / f"contestant_{name}.py"), workload, scratch]
    quiet = {**os.environ, "OMP_WAIT_POLICY": "passive", "TOKENIZERS_PARALLELISM": "false"}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=quiet)


def take_step(process: Any) -> dict[str, Any]:
    process.stdin.write("go\n")
    process.stdin.flush()
    for line in process.stdout:
        if line.startswith('{"step"'):
            return dict(json.loads(line))
    raise SystemExit(f"{process.args[1]} ended early, with status {process.wait()}")


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    medians = {k: round(statistics.median(row[k] for row in rows), 3) for k in ("step", "sample", "learn")}
    return {
        **medians,
        "steps": [round(row["step"], 3) for row in rows],
        "sampled_tokens_per_second": round(rows[-1]["tokens"] / medians["sample"], 1),
        "peak_mb": round(rows[-1]["peak_mb"]),
        "threads": rows[-1]["threads"],
    }


def machine() -> dict[str, Any]:
    packages = {name: version(name) for name in ("guerdon", "torch", "transformers", "trl")}
    return {"cpus": os.cpu_count(), "processor": platform.processor() or platform.machine(), **packages}


if __name__ == "__main__":
    main()
