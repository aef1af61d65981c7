"""Runs the speed bench: python bench/run.py [NAME ...], the names being those of `ALL`.

Without names all of them run, about an hour and a half. Each writes its own entry of bench/results/MACHINE.json, and
the table MACHINE.md is made anew. With --only or --small nothing is written.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from speed import counting
from speed.entries import contestants, entries, environment
from speed.job import Job, tell
from speed.machine import PACKAGES, VERSIONS, commit, machine, slug
from speed.race import race
from speed.results import Results, written
from speed.summary import Row, differing, ratios, summarise
from speed.targets import judged
from speed.workloads import PAIRS, RANDOM, ROLLOUTS, SMOL

ROOT = Path(__file__).parents[1]
ALONE = {
    "ceilings": "ceilings",
    "startup": "startup",
    "Z": "dead_groups",
    "memory": "memory",
    "scaling": "scaling",
    "overhead-S": "overhead",
    "overhead-T": "overhead",
}
"""What is measured of guerdon alone, and the file in speed/alone that does it."""

RACES = (*(name for name in ROLLOUTS if name != "Q"), *PAIRS, "gen")
ALL = ("ceilings", "startup", *RACES, *(name for name in ALONE if name not in ("ceilings", "startup")))


def main() -> int:
    given = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an exception, so that what was started is ended too
    unwritten = given.small or given.only
    about = machine()
    with tempfile.TemporaryDirectory() as scratch:
        folders = {name: model_folder(name, scratch) for name in models(given.names, given.small)}
        if given.device != "cpu":
            about["gpu"] = gpu()
        results = Results(slug(about, about.get("gpu", "")), about)
        failed = []
        for name in given.names:
            tell(f"{name}:")
            job = Job(name, folders, scratch, given.device, given.dtype, given.rounds, given.small)
            try:
                entry = measure(job, given)
            except Exception:  # the others shall still run; this one is told at the end
                traceback.print_exc()
                failed.append(name)
                continue
            print(written({name: entry}) if unwritten else told(name, entry), flush=True)
            if not unwritten:
                results.put(key(name, given.dtype), entry)
    if not unwritten:
        tell(f"written: {results.file} and {results.page}")
    if failed:
        tell(f"failed: {', '.join(failed)}")
    return int(bool(failed))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to run (default: all that a CPU can)")
    parser.add_argument("--rounds", type=int, default=5, help="counted steps of each contestant")
    parser.add_argument("--warmup", type=int, help="steps before those (default: 1, of L and V none)")
    parser.add_argument("--only", choices=["guerdon", "trl", "transformers"], help="one side of a race")
    parser.add_argument("--peers-python", default=sys.executable, help="interpreter of the environment with TRL")
    parser.add_argument("--device", default="cpu", help="cpu or cuda; the workload Q needs cuda")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32", help="of both sides of a race")
    parser.add_argument("--patience", type=float, default=0.0, help="seconds to wait for a quiet machine, a step each")
    parser.add_argument("--small", action="store_true", help="everything tiny: only to see that it works")
    given = parser.parse_args()
    known = (*ALL, "Q")
    unknown = [name for name in given.names if name not in known]
    if unknown:
        parser.error(f"there is no workload {unknown[0]!r}; expected some of {', '.join(known)}")
    if "Q" in given.names and given.device == "cpu" and not given.small:
        parser.error("Q is for a GPU: --device cuda --dtype bfloat16")
    given.names = given.names or list(ALL)
    return given


def models(names: list[str], small: bool) -> list[str]:
    """Models that the workloads run on."""
    if small:
        return [RANDOM]
    own = [ROLLOUTS[name].model for name in names if name in ROLLOUTS]
    further = {"overhead-T": RANDOM, "overhead-S": SMOL, "Z": SMOL, "gen": SMOL, **dict.fromkeys(PAIRS, SMOL)}
    return sorted({*own, *(further[name] for name in names if name in further)})


def model_folder(name: str, scratch: str) -> str:
    command = [sys.executable, "-m", "speed.folders", name, scratch]
    return output(command).splitlines()[-1]


def output(command: list[str]) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment(ours=True)).stdout


def gpu() -> str:
    return output([sys.executable, "-c", "import torch; print(torch.cuda.get_device_name())"]).strip()


def key(name: str, dtype: str) -> str:
    """The name of an entry: that of its workload, and the number format where it is not the usual one."""
    return name if dtype == "float32" or name in ALONE else f"{name} {dtype}"


def measure(job: Job, given: argparse.Namespace) -> dict[str, Any]:
    """The entry of one workload."""
    if job.workload in ALONE:
        command = [sys.executable, "-m", f"speed.alone.{ALONE[job.workload]}", job.words()]
        entry: dict[str, Any] = json.loads(output(command).splitlines()[-1])["found"]
    else:
        entry = raced(job, given)
    entry = {"date": time.strftime("%Y-%m-%d"), "commit": commit(ROOT), **entry}
    entry["versions"] = {"guerdon": versions(sys.executable)}
    if job.workload not in ALONE:
        entry["versions"]["peer"] = versions(given.peers_python)
    entry["targets"] = judged(job.workload, entry) if job.dtype == "float32" and not job.small else []
    return entry


def raced(job: Job, given: argparse.Namespace) -> dict[str, Any]:
    """Both sides of a race (one with --only), what they come to, and what has to be known about it."""
    sides = {name: side for name, side in entries(job, given.peers_python).items() if given.only in (None, name)}
    if not sides:
        raise ValueError(
            f"{given.only} does not race on {job.workload}; it is {' against '.join(contestants(job.workload))}"
        )
    known = ROLLOUTS | PAIRS
    work = known.get(job.workload, ROLLOUTS["S"])
    warmup = work.warmup if given.warmup is None else given.warmup
    rows = race(sides, given.rounds, warmup, given.patience)
    what = f"generation alone, {work.what}" if job.workload == "gen" else work.what
    settings = {"device": job.device, "dtype": job.dtype, "rounds": given.rounds, "warmup": warmup}
    summaries = {name: summarise(found) for name, found in rows.items()}
    entry: dict[str, Any] = {"what": what, "settings": settings, "contestants": summaries, "notes": []}
    if "guerdon" in rows and not job.small:
        entry["gflop"] = counting.counted(job.workload, job.folders[work.model], rows["guerdon"])
    if not given.only:
        entry["ratios"] = ratios(*summaries.values())
        entry["notes"] = notes(job, warmup, *rows.values())
    return entry


def notes(job: Job, warmup: int, ours: list[Row], theirs: list[Row]) -> list[str]:
    """What a reader of the row has to know."""
    found = []
    micro = job.rollouts().peer_micro if job.workload in ROLLOUTS else 0
    if micro:
        found.append(f"TRL trains on {micro} sequences at a time, which its memory forces, and generates all at once")
    if not warmup:
        found.append("no step is left out as a warm-up")
    for name in ("tokens", "prompt_tokens", "given", "trained"):
        apart = differing(ours, theirs, name)
        if apart:
            sums = [sum(int(rows[i][name]) for i in apart) for rows in (ours, theirs)]
            found.append(f"{name} differ in {len(apart)} of {len(ours)} steps: {sums[0]} and {sums[1]} in those")
    return found


def versions(python: str) -> dict[str, str]:
    found: dict[str, str] = json.loads(output([python, "-c", VERSIONS, *PACKAGES]))
    return found


def told(name: str, entry: dict[str, Any]) -> str:
    """A line or two for whoever waits."""
    targets = [f"{t['name']} {t['found']:.4g} ({'met' if t['met'] else 'MISSED'})" for t in entry["targets"]]
    both = [f"{side} {s['step']:.2f} s" for side, s in entry.get("contestants", {}).items()]
    return f"{name}: " + ", ".join([*both, *targets, *entry.get("notes", [])] or ["done"])


if __name__ == "__main__":
    sys.exit(main())
