"""What came of a run, in numbers: from what its folder holds, so that a resumed run counts from its beginning."""

from __future__ import annotations

import hashlib
import resource
import statistics
from collections.abc import Sequence
from typing import Any

import torch

from guerdon.metrics import Event, read_events
from guerdon.run import Budget, RunFolder
from guerdon.types import STATUSES

EXAMPLES = 3
"""Different faults that a summary shows."""


def summarise(folder: RunFolder, step: int, budget: Budget, module: torch.nn.Module) -> dict[str, Any]:
    """What `--json` prints: documented in docs/json.md."""
    events = read_events(folder.metrics)
    evals = [event for event in events if event["event"] == "eval"]
    steps = [event["metrics"] for event in events if event["event"] == "step"]
    return {
        "run": str(folder.path),
        "steps": step,
        "heldout_before": evals[0]["accuracy"] if evals else None,
        "heldout_after": evals[-1]["accuracy"] if evals and evals[-1]["step"] == step else None,
        "seconds": round(budget.seconds, 3),
        "step_seconds": {name: _median(steps, f"seconds/{name}") for name in ("total", "sample", "score", "learn")},
        "tokens": {"sampled": budget.sampled_tokens, "trained": budget.trained_tokens},
        "rewards": rewards_seen(steps),
        "faults": faults_seen(events),
        "alarms": [f"step {event['step']}: {event['sentence']}" for event in events if event["event"] == "alarm"],
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "weights_sha256": weights_sha256(module),
    }


def _median(steps: list[Event], name: str) -> float | None:
    found = [metrics[name] for metrics in steps if name in metrics]
    return round(statistics.median(found), 6) if found else None


def weights_sha256(module: torch.nn.Module) -> str:
    """A fingerprint of every tensor of a module: equal iff the weights are equal bit for bit."""
    digest = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def rewards_seen(steps: Sequence[Event]) -> dict[str, dict[str, float]]:
    """By reward: the share of each verdict among all completions of training; a plain number is none of them."""
    found: dict[str, dict[str, float]] = {}
    for name in sorted({name for metrics in steps for name in metrics if name.startswith("verdict/")}):
        reward, _, status = name.removeprefix("verdict/").rpartition("/")
        total = sum(metrics.get("sampled/rollouts", 0.0) for metrics in steps if name in metrics)
        counted = sum(metrics[name] * metrics.get("sampled/rollouts", 0.0) for metrics in steps if name in metrics)
        found.setdefault(reward, {})[status] = round(counted / total, 6) if total else 0.0
    return {reward: {s: shares[s] for s in STATUSES if s in shares} for reward, shares in found.items()}


def faults_seen(events: Sequence[Event]) -> dict[str, Any]:
    """samples: completions of training that a fault left without a score; their share; a few different examples."""
    steps = [event["metrics"] for event in events if event["event"] == "step"]
    samples = sum(metrics.get("faults", 0.0) for metrics in steps)
    rollouts = sum(metrics.get("sampled/rollouts", 0.0) for metrics in steps)
    told = {f"{event['where']}: {event['what']}": None for event in events if event["event"] == "fault"}
    return {
        "samples": int(samples),
        "share": round(samples / rollouts, 6) if rollouts else 0.0,
        "examples": list(told)[:EXAMPLES],
    }
