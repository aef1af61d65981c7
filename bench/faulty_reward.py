"""Does a run survive a reward that crashes, hangs and lies? python bench/faulty_reward.py [--seeds 3] [--steps 60]

The same job with a sound reward, and with the same reward that raises on 2.5% of (prompt, completion), takes its
process down on 2.5%, hangs on 1% and returns NaN on 1%. Prints held-out accuracy by the sound scorer, and what the
summary says; writes bench/results/faulty_reward.json.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from guerdon import cli
from guerdon.evaluation.intervals import mean_over_tasks, paired_difference

REWARDS = """
import os
import time
from zlib import crc32


def sound(completion, answer):
    return float(completion.strip() == answer)


def careless(completion, answer, prompt):
    chance = crc32(f"{prompt}|{completion}".encode()) % 10000 / 100
    if chance < 2.5:
        raise RuntimeError("out of luck")
    if chance < 5:
        os._exit(3)
    if chance < 6:
        time.sleep(3600)
    if chance < 7:
        return float("nan")
    return sound(completion, answer)
"""


HERE = Path(__file__).resolve().parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--timeout", type=float, default=0.5)
    given = parser.parse_args()
    rows: dict[str, list[dict[str, Any]]] = {"sound": [], "careless": []}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("rewards.py").write_text(REWARDS)
        for seed in range(given.seeds):
            for name in rows:
                rows[name].append(one(name, seed, given.steps, given.timeout))
                print(json.dumps(rows[name][-1]), flush=True)
    accuracy = {name: {str(i): [row["accuracy"]] for i, row in enumerate(found)} for name, found in rows.items()}
    result = {
        "date": time.strftime("%Y-%m-%d"),
        "seeds": given.seeds,
        "steps": given.steps,
        "accuracy": {name: str(mean_over_tasks(found)) for name, found in accuracy.items()},
        "difference": str(paired_difference(accuracy["sound"], accuracy["careless"])),
        "runs": rows,
    }
    out = HERE / "results" / "faulty_reward.json"
    out.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


def one(name: str, seed: int, steps: int, timeout: float) -> dict[str, Any]:
    """Train, then measure by the tasks' own scorer."""
    run = f"{name}-{seed}"
    words = f"train --reward rewards.py:{name} --reward-timeout {timeout} --steps {steps} --seed {seed} --out {run}"
    told = said([*words.split(), "--eval-every", "0", "--save-every", "0", "--eval-tasks", "0", "--quiet", "--json"])
    measured = said(["eval", run, "--reward", "numeric", "--json"])
    return {
        "reward": name,
        "seed": seed,
        "accuracy": measured["accuracy"]["mean"],
        "seconds": told["seconds"],
        "verdicts": told["rewards"],
        "faults": told["faults"],
    }


def said(words: list[str]) -> dict[str, Any]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = cli.run(words)
    assert status == 0, out.getvalue()
    return dict(json.loads(out.getvalue().splitlines()[-1]))


if __name__ == "__main__":
    main()
