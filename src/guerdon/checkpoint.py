"""Saving so that nothing is lost: written aside, synced, renamed; the old one goes only when the new one is whole.

A checkpoint is a folder `step-00000042` with the learner (a Hugging Face folder and the optimiser per role), the
source's state, and the random states. A folder that was being written or removed when the process died ends in
`.part`, is never read, and goes with the next save or when the run is resumed.
"""

from __future__ import annotations

import os
import pickle
import random
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch

PART = ".part"
_WHOLE = re.compile(r"step-(\d+)")


class Unwritable(OSError):
    """Something could not be written; what was saved before is untouched."""


class Damaged(ValueError):
    """A checkpoint cannot be read."""


def save(root: Path, step: int, write: Callable[[Path], None], keep: int = 2) -> Path:
    """Call `write(folder)` on a folder aside, then make it `root/step-NNNNNNNN` in one move; keep the latest `keep`."""
    final = root / f"step-{step:08d}"
    with writing(final, root, Exception):
        root.mkdir(parents=True, exist_ok=True)
        _sync_path(root.parent)
        sweep(root)
        write_folder(final, write)
    for old in complete(root)[:-keep]:
        with suppress(OSError):  # it only takes up room
            _remove(old)
    return final


def sweep(root: Path) -> None:
    """Remove what processes that died left half-written or half-removed."""
    for left in root.glob(f"step-*{PART}"):
        shutil.rmtree(left, ignore_errors=True)


def write_folder(final: Path, write: Callable[[Path], None]) -> None:
    """Make `final` what `write` writes into the folder it is given; on any error what was there stays."""
    aside = final.with_name(final.name + PART)
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    write(aside)
    _share(aside)
    sync(aside)
    if final.exists():
        _remove(final)
    os.replace(aside, final)
    _sync_path(final.parent)


def _share(folder: Path) -> None:
    """Give files the permissions that this process gives any new file; safetensors keeps its own to their owner."""
    mask = os.umask(0)
    os.umask(mask)
    for path in folder.rglob("*"):
        if path.is_file():
            path.chmod(0o666 & ~mask)


@contextmanager
def writing(what: Path, root: Path, kind: type[Exception] = OSError) -> Iterator[None]:
    """Turn a failure to write `what` into `Unwritable`, which says what is whole in `root` and how to go on.

    kind: what counts as one; torch and safetensors raise exceptions of their own when a disk is full. What lies
    half-written is removed, so that there is room for others.
    """
    try:
        yield
    except Unwritable:
        raise
    except kind as error:
        message = _explain(what, root, error)
        shutil.rmtree(what.with_name(what.name + PART), ignore_errors=True)
        raise Unwritable(message) from error


def _explain(what: Path, root: Path, error: Exception) -> str:
    there = next(folder for folder in (root, *root.absolute().parents) if folder.exists())
    free = shutil.disk_usage(there).free / 1e9
    have = complete(root)
    kept = f"The last whole checkpoint is {have[-1]}." if have else "There is no earlier checkpoint."
    why = str(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
    left = f"{free:.2f} GB are free there. {kept}"
    return f"could not write {what}: {why}. {left} Mend it and go on with --resume {root.parent}"


def _remove(folder: Path) -> None:
    """Rename first, so that a folder which is half removed does not look whole."""
    gone = folder.with_name(f"{folder.name}.old{PART}")
    shutil.rmtree(gone, ignore_errors=True)
    os.replace(folder, gone)
    shutil.rmtree(gone, ignore_errors=True)


def complete(root: Path) -> list[Path]:
    """Whole checkpoints, oldest first."""
    if not root.is_dir():
        return []
    return sorted((p for p in root.iterdir() if p.is_dir() and _WHOLE.fullmatch(p.name)), key=step_of)


def step_of(folder: Path) -> int:
    return int(folder.name.removeprefix("step-"))


def set_aside(folder: Path) -> Path:
    """Take a damaged checkpoint out of the row; it is kept for whoever wants to look into it."""
    aside = folder.with_name(folder.name + ".damaged")
    shutil.rmtree(aside, ignore_errors=True)
    os.replace(folder, aside)
    return aside


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
