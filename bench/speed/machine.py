"""Which machine this is, and which versions ran: what stands beside every result."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

PACKAGES = ("guerdon", "torch", "transformers", "trl", "accelerate")

VERSIONS = """
import json, sys
from importlib.metadata import PackageNotFoundError, version
found = {"python": sys.version.split()[0]}
for package in sys.argv[1:]:
    try:
        found[package] = version(package)
    except PackageNotFoundError:
        pass
print(json.dumps(found))
"""
"""A program for an environment to tell its own versions; it imports none of them."""

INSTRUCTIONS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "sve")
"""Instruction sets that decide what a matrix product costs."""


def machine() -> dict[str, Any]:
    """Processor, cores, memory in GB, instruction sets, system."""
    described = _cpuinfo()
    name = described.get("model name") or platform.processor() or platform.machine()
    flags = (described.get("flags") or described.get("Features") or "").split()
    return {
        "processor": re.sub(r"\((R|TM|r|tm)\)", "", name).strip(),
        "cores": os.cpu_count() or 1,
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "instructions": [flag for flag in INSTRUCTIONS if flag in flags],
        "system": f"{platform.system()} {platform.machine()}",
    }


def slug(found: dict[str, Any], device: str = "") -> str:
    """A file name for a machine: its GPU, if that ran, or its processor and cores."""
    words = device or f"{found['processor']} {found['cores']} cores"
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def commit(root: Path) -> str:
    """The commit that was measured, with a + where files that it knows have changed since; '' outside of git."""
    try:
        ask = ["git", "-C", str(root)]
        head = subprocess.run([*ask, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run([*ask, "status", "--porcelain", "-uno", "src"], capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")


def _cpuinfo() -> dict[str, str]:
    """The first processor's lines of /proc/cpuinfo; nothing elsewhere."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().split("\n\n")[0].splitlines() if file.exists() else []
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
