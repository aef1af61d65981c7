"""Saving so that nothing is lost: written aside, synced, renamed; the old one goes only when the new one is whole.

A checkpoint is a folder `step-00000042` with the learner (a Hugging Face folder and the optimiser per role), the
source's state, and the random states. A folder that was being written when the process died keeps its `.part` name
and is never read.
"""

from __future__ import annotations

import os
import pickle
import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

PART = ".part"


class Unwritable(OSError):
    """A folder could not be written; what was saved before is untouched."""


def save(root: Path, step: int, write: Callable[[Path], None], keep: int = 2) -> Path:
    """Call `write(folder)` on a folder aside, then make it `root/step-NNNNNNNN` in one move; keep the latest `keep`."""
    final = root / f"step-{step:08d}"
    aside = final.with_name(final.name + PART)
    try:
        root.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        write(aside)
        sync(aside)
        if final.exists():
            shutil.rmtree(final)
        os.replace(aside, final)
        _sync_path(root)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        raise Unwritable(_explain(final, error)) from error
    for old in complete(root)[:-keep]:
        shutil.rmtree(old, ignore_errors=True)
    return final


def _explain(final: Path, error: OSError) -> str:
    free = shutil.disk_usage(final.parent if final.parent.exists() else Path.cwd()).free / 1e9
    have = complete(final.parent)
    kept = f"The last whole checkpoint is {have[-1]}." if have else "There is no earlier checkpoint."
    return f"could not save {final}: {error}. {free:.1f} GB are free there. {kept} Mend it and go on with --resume."


def complete(root: Path) -> list[Path]:
    """Whole checkpoints, oldest first."""
    if not root.exists():
        return []
    return sorted(p for p in root.iterdir() if p.name.startswith("step-") and not p.name.endswith(PART))


def step_of(folder: Path) -> int:
    return int(folder.name.removeprefix("step-"))


def sync(folder: Path) -> None:
    """Flush every file of a folder, and the folder itself, to the disk."""
    for path in folder.rglob("*"):
        _sync_path(path)
    _sync_path(folder)


def _sync_path(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_state(folder: Path, state: Mapping[str, Any]) -> None:
    """Plain Python state (source cursor, counters) with the random states of this process."""
    randoms = {"python": random.getstate(), "numpy": np.random.get_state(), "torch": torch.get_rng_state()}
    (folder / "state.pkl").write_bytes(pickle.dumps({**state, "random": randoms}))


def read_state(folder: Path) -> dict[str, Any]:
    """What `write_state` wrote; the random states are set. Only for folders of one's own: it is a pickle."""
    state: dict[str, Any] = pickle.loads((folder / "state.pkl").read_bytes())
    randoms = state.pop("random")
    random.setstate(randoms["python"])
    np.random.set_state(randoms["numpy"])
    torch.set_rng_state(randoms["torch"])
    return state
