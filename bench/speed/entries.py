"""Who races on which workload, and in which environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from speed.job import Job
from speed.race import Entry

BENCH = Path(__file__).parents[1]

PEERS = {"gen": "transformers"}
"""Against whom a workload is raced, where that is not TRL."""


def contestants(workload: str) -> dict[str, str]:
    """The module of each side of a race, guerdon's first."""
    kind = {"gen": "generate", "DPO": "pairs", "RM": "pairs"}.get(workload, "grpo")
    peer = PEERS.get(workload, "trl")
    return {side: f"speed.contestants.{kind}_{side}" for side in ("guerdon", peer)}


def entries(job: Job, peers_python: str) -> dict[str, Entry]:
    """The command and the environment of each side of a race."""
    modules = contestants(job.workload)
    pythons = {side: sys.executable if side == "guerdon" else peers_python for side in modules}
    return {
        side: Entry([pythons[side], "-m", module, job.words()], environment(ours=side == "guerdon"))
        for side, module in modules.items()
    }


def environment(ours: bool) -> Mapping[str, str]:
    """Nothing is fetched or shown, and a peer sees no guerdon."""
    given = os.environ.get("PYTHONPATH") if ours else None
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(BENCH), *([given] if given else [])]),
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "TRANSFORMERS_VERBOSITY": "error",
        "TQDM_DISABLE": "1",
        "PYTHONWARNINGS": "ignore",
    }
