"""Results of claims on disk: written by `guerdon claim`, shipped with the package, and stale once the code is newer."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from guerdon.claims.base import BUDGET, Claim, Measured, Results, difference, mean, met, metrics, word
from guerdon.evaluation.intervals import Interval
from guerdon.files import write_whole

FOLDER = Path(__file__).parent / "results"


def find_claim(slug: str) -> Claim:
    """The claim of a method. ValueError when there is none."""
    from guerdon.names import nearest

    name = slug.replace("-", "_")
    if name not in claim_names():
        raise ValueError(f"there is no claim {slug!r}{nearest(name, claim_names())}")
    claim = importlib.import_module(f"guerdon.claims.{name}").CLAIM
    assert isinstance(claim, Claim)
    return claim


def claim_names() -> list[str]:
    """Names of the files that hold a claim."""
    own = {"__init__", "base", "picture", "record", "run"}
    return sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in own)


def record(claim: Claim, results: Results, command: str) -> dict[str, Any]:
    """Everything there is to keep of a run of a claim, as plain data."""
    from guerdon.run import hardware, versions

    return {
        "slug": claim.slug,
        "claim": claim.claim,
        "word": word(results, claim),
        "seeds": sorted(next(iter(results.values()))),
        "arms": {arm: _arm(results, arm) for arm in claim.arms},
        "expectations": [
            {
                "text": str(one),
                "control": one.control,
                "word": met(results, one),
                "least": one.least,
                "difference": _plain(difference(results, one)),
            }
            for one in claim.expect
        ],
        "figures": {
            arm: {str(seed): dict(one.figures) for seed, one in seeds.items()} for arm, seeds in results.items()
        },
        "command": command,
        "commit": commit(),
        "code": code_of(claim),
        "versions": versions(),
        "hardware": hardware(),
    }


def _arm(results: Results, arm: str) -> dict[str, Any]:
    shown = [name for name in metrics(results) if all(name in one.figures for one in results[arm].values())]
    runs = list(results[arm].values())
    budget = {name: sum(one.budget[name] for one in runs) / len(runs) for name in BUDGET if name in runs[0].budget}
    return {"metrics": {name: _plain(mean(results, arm, name)) for name in shown}, "budget_per_seed": budget}


def _plain(interval: Interval) -> dict[str, float]:
    return {"mean": interval.mean, "low": interval.low, "high": interval.high, "n": interval.n}


def results_of(found: Mapping[str, Any]) -> Results:
    """The figures of a record, to be judged again."""
    return {
        arm: {int(seed): Measured(figures, {}) for seed, figures in seeds.items()}
        for arm, seeds in found["figures"].items()
    }


def write(found: Mapping[str, Any], folder: Path = FOLDER) -> Path:
    """Keep a record as `<slug>.json`."""
    path = folder / f"{found['slug']}.json"
    write_whole(path, json.dumps(found, indent=1, default=str) + "\n")
    return path


def read(slug: str, folder: Path = FOLDER) -> dict[str, Any] | None:
    """The kept record of a method's claim, with `stale` set; None when there is none."""
    path = folder / f"{slug}.json"
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return {**found, "stale": found["code"] != code_of(find_claim(slug))}


def code_of(claim: Claim) -> str:
    """A fingerprint of the code that a result depends on: the claim's file, the method's, and what it names."""
    digest = hashlib.sha256()
    name = claim.slug.replace("-", "_")
    for module in (f"guerdon.claims.{name}", f"guerdon.methods.{name}", *claim.source):
        found = importlib.util.find_spec(module)
        if found is not None and found.origin:
            digest.update(Path(found.origin).read_bytes())
    return digest.hexdigest()


def commit() -> str | None:
    """The commit of the working tree that this package lies in, if it lies in one."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
