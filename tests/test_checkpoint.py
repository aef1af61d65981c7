"""Whatever happens while a checkpoint is written, the one before stays whole."""

import contextlib
import errno
import os
import random
import shutil
import subprocess

import numpy as np
import pytest
import torch

from guerdon import checkpoint
from guerdon.checkpoint import Unwritable, complete, save


def content(text):
    def write(folder):
        (folder / "policy").mkdir()
        (folder / "policy" / "weights").write_text(text)
        (folder / "state.pkl").write_text(text)

    return write


def whole(folder, text):
    return (folder / "policy" / "weights").read_text() == text == (folder / "state.pkl").read_text()


def names(root):
    return sorted(path.name for path in root.iterdir())


@pytest.fixture
def root(tmp_path):
    """A run's checkpoints with one whole one, of step 2."""
    root = tmp_path / "run" / "checkpoints"
    root.parent.mkdir()
    save(root, 2, content("two"))
    return root


def test_a_checkpoint_appears_in_one_move_after_everything_is_on_the_disk(root, monkeypatch):
    events = []
    sync, move = os.fsync, os.replace
    monkeypatch.setattr(
        os, "fsync", lambda handle: (events.append(os.readlink(f"/proc/self/fd/{handle}")), sync(handle))
    )
    monkeypatch.setattr(os, "replace", lambda a, b: (events.append(f"move {a.name} {b.name}"), move(a, b)))

    def write(folder):
        assert folder.parent == root  # the same file system, or it could not be one move
        assert complete(root) == [root / "step-00000002"]
        content("four")(folder)

    final = save(root, 4, write)
    assert whole(final, "four")
    moved = events.index("move step-00000004.part step-00000004")
    synced = events[:moved]
    for part in ("", "/policy", "/policy/weights", "/state.pkl"):
        assert f"{root}/step-00000004.part{part}" in synced
    assert str(root) in events[moved:], "the folder's new entry is not synced"


def test_only_the_latest_are_kept_and_older_ones_go_after_the_new_one_is_whole(root):
    for step in (4, 6):
        save(root, step, content(str(step)), keep=2)
    assert names(root) == ["step-00000004", "step-00000006"]

    def write(folder):
        assert names(root) == ["step-00000004", "step-00000006", "step-00000008.part"]
        content("8")(folder)

    save(root, 8, write, keep=1)
    assert names(root) == ["step-00000008"]


class Killed(BaseException):
    """Stands for the end of the process: nothing in the program may catch it."""


def calls(module, name, monkeypatch, root, number, error):
    """Make the number-th call of a function fail; before it is done."""
    real, count = getattr(module, name), iter(range(1000))

    def broken(*args, **kwargs):
        if next(count) == number:
            raise error
        return real(*args, **kwargs)

    monkeypatch.setattr(module, name, broken)


@pytest.mark.parametrize("error", [Killed(), OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))], ids=["kill", "full"])
@pytest.mark.parametrize(
    ("module", "name", "number"),
    [(os, "fsync", n) for n in range(7)]
    + [(os, "replace", 0), (os, "replace", 1), (shutil, "rmtree", 0), (shutil, "rmtree", 1), (shutil, "rmtree", 2)],
)
def test_a_death_at_any_point_leaves_the_last_whole_checkpoint(root, monkeypatch, module, name, number, error):
    with monkeypatch.context() as patch:
        calls(module, name, patch, root, number, error)
        with contextlib.suppress(Killed, Unwritable):
            save(root, 4, content("four"), keep=1)
    found = complete(root)
    assert found
    for path in found:
        assert whole(path, {2: "two", 4: "four"}[checkpoint.step_of(path)])
    final = save(root, 6, content("six"), keep=1)  # and the next one is as if nothing had been
    assert names(root) == [final.name]
    assert whole(final, "six")


def test_a_death_while_writing_leaves_a_part_that_is_never_read_and_goes_with_the_next_save(root):
    def write(folder):
        (folder / "policy").mkdir()
        raise Killed

    with pytest.raises(Killed):
        save(root, 3, write)
    assert names(root) == ["step-00000002", "step-00000003.part"]
    assert complete(root) == [root / "step-00000002"]
    save(root, 4, content("four"))
    assert names(root) == ["step-00000002", "step-00000004"]


def test_a_half_removed_checkpoint_does_not_look_whole(root, monkeypatch):
    save(root, 4, content("four"))
    real = shutil.rmtree

    def half(path, **options):
        if path.name.startswith("step-00000002") and path.exists():
            (path / "state.pkl").unlink()
            raise Killed
        real(path, **options)

    monkeypatch.setattr(shutil, "rmtree", half)
    with pytest.raises(Killed):
        save(root, 6, content("six"), keep=2)
    assert complete(root) == [root / "step-00000004", root / "step-00000006"]


def test_the_same_step_can_be_saved_again(root):
    assert whole(save(root, 2, content("again")), "again")
    assert names(root) == ["step-00000002"]


@pytest.mark.parametrize("error", [RuntimeError("unexpected pos 576 vs 534"), OSError(errno.ENOSPC, "No space left")])
def test_a_failed_save_says_what_failed_what_is_left_and_what_to_do(root, error):
    def write(folder):
        content("four")(folder)
        raise error

    with pytest.raises(Unwritable, match=r"step-00000004.*(unexpected pos|No space left)") as caught:
        save(root, 4, write)
    message = str(caught.value)
    assert "GB are free" in message
    assert f"The last whole checkpoint is {root / 'step-00000002'}" in message
    assert f"--resume {root.parent}" in message
    assert names(root) == ["step-00000002"], "what was half written still takes up the room"
    assert whole(root / "step-00000002", "two")


def test_a_first_save_that_fails_says_that_there_is_nothing_earlier(tmp_path):
    (tmp_path / "checkpoints").write_text("a file where the folder should be")
    with pytest.raises(Unwritable, match="There is no earlier checkpoint"):
        save(tmp_path / "checkpoints", 1, content("one"))


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("only root may mount a file system")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_on_a_full_disk_torch_and_plain_files_alike_end_in_unwritable(small_disk):
    root = small_disk / "checkpoints"
    save(root, 1, content("one"))
    for write in (
        lambda folder: torch.save(torch.zeros(100_000), folder / "engine.pt"),
        lambda folder: (folder / "state.pkl").write_bytes(bytes(400_000)),
    ):
        with pytest.raises(Unwritable, match=r"0\.00 GB are free.*step-00000001"):
            save(root, 2, write)
        assert names(root) == ["step-00000001"]
    assert whole(root / "step-00000001", "one")
    save(root, 2, content("two"))  # there is room again


def test_complete_reads_numbers_and_ignores_everything_else(root):
    for name in ("step-00000010.part", "step-x", "step-00000004.damaged", "notes"):
        (root / name).mkdir()
    (root / "step-00000011").write_text("no folder")
    (root / "step-123456789").mkdir()
    (root / "step-99999999").mkdir()
    assert [checkpoint.step_of(path) for path in complete(root)] == [2, 99999999, 123456789]
    assert complete(root / "absent") == []


def test_state_brings_back_the_random_numbers(tmp_path):
    def draw():
        return random.random(), np.random.rand(), torch.rand(1).item()

    checkpoint.write_state(tmp_path, {"step": 3, "draws": [1, 2]})
    first = draw()
    draw()
    assert checkpoint.read_state(tmp_path) == {"step": 3, "draws": [1, 2]}
    assert draw() == first
