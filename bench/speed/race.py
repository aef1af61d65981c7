"""A race: contestants in processes of their own take steps in turn, so that a drift of the machine meets all."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from speed.job import tell
from speed.load import Load, wait_until_quiet
from speed.summary import BUSY, Row
from speed.turns import MARK


@dataclass(frozen=True)
class Entry:
    """Who races: the command that starts it, and its environment."""

    command: Sequence[str]
    environment: Mapping[str, str]


class Ended(RuntimeError):
    """A contestant stopped in the middle of a race."""


def race(entries: Mapping[str, Entry], rounds: int, warmup: int, patience: float = 0.0) -> dict[str, list[Row]]:
    """Every contestant's counted rows; each has `others`, the share of the machine that went elsewhere meanwhile.

    The order turns round with every round. patience: seconds to wait, before each step, for the machine to be quiet.
    """
    racing: dict[str, subprocess.Popen[str]] = {}
    rows: dict[str, list[Row]] = {name: [] for name in entries}
    try:
        for name, entry in entries.items():
            racing[name] = _start(entry)
        for number in range(warmup + rounds):
            order = list(racing) if number % 2 == 0 else list(racing)[::-1]
            for name in order:
                if patience:
                    wait_until_quiet(BUSY, patience)
                row = _step(name, racing[name], [process.pid for process in racing.values()])
                counted = number >= warmup
                tell(_line(number, name, row, counted))
                if counted:
                    rows[name].append(row)
    finally:
        for process in racing.values():
            _stop(process)
    return rows


def _start(entry: Entry) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(list(entry.command), stdin=pipe, stdout=pipe, text=True, env=dict(entry.environment))


def _step(name: str, process: subprocess.Popen[str], pids: Sequence[int]) -> Row:
    assert process.stdin is not None
    assert process.stdout is not None
    load = Load(pids)
    try:
        process.stdin.write("go\n")
        process.stdin.flush()
    except BrokenPipeError:
        raise _ended(name, process) from None
    for line in process.stdout:
        if line.startswith(MARK):
            others = load.others()
            row: dict[str, Any] = json.loads(line)
            return row if others is None else {**row, "others": others}
    raise _ended(name, process)


def _ended(name: str, process: subprocess.Popen[str]) -> Ended:
    status = process.wait()
    why = " (killed, as systems do that run out of memory)" if status == -signal.SIGKILL else ""
    return Ended(f"{name} ended early, with status {status}{why}")


def _line(number: int, name: str, row: Row, counted: bool) -> str:
    others = f", others {row['others']:.0%}" if row.get("others", 0.0) > BUSY else ""
    return f"  round {number}{'' if counted else ' (not counted)'} {name}: {row['step']:.2f} s{others}"


def _stop(process: subprocess.Popen[str]) -> None:
    """At once, in whatever it is: nothing of it is needed any more, and it may hold much memory."""
    process.kill()
    process.communicate()
