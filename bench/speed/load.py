"""What else the machine was doing while something was measured: read from /proc, so on Linux only."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

STAT = Path("/proc/stat")


class Load:
    """Begun when it is made; `others()` is the share of all processors that went to processes other than `pids`.

    Time that a virtual machine's host took for itself counts as others'.
    """

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = pids
        self._begin, self._busy, self._own = time.perf_counter(), _busy(), self._spent()

    def others(self) -> float | None:
        """0 (quiet) to 1; None where the system does not tell."""
        wall = time.perf_counter() - self._begin
        busy = _busy()
        if busy is None or self._busy is None or wall <= 0:
            return None
        others = (busy - self._busy) - (self._spent() - self._own)
        return min(1.0, max(0.0, others / (wall * (os.cpu_count() or 1))))

    def _spent(self) -> float:
        return sum(_seconds(Path(f"/proc/{pid}/stat")) for pid in self._pids)


def wait_until_quiet(limit: float, patience: float, window: float = 1.0) -> float:
    """Wait until all processes together use at most this share, `patience` seconds at most; the seconds waited."""
    begin = time.perf_counter()
    while time.perf_counter() - begin < patience:
        load = Load([])
        time.sleep(window)
        share = load.others()
        if share is None or share <= limit:
            break
    return time.perf_counter() - begin


def _busy() -> float | None:
    """Processor seconds since the machine started that were not idle, guests counted once."""
    if not STAT.exists():
        return None
    fields = [int(field) for field in STAT.read_text().splitlines()[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def _seconds(stat: Path) -> float:
    """Processor seconds of a process and of the children it has waited for; 0 where it is gone."""
    try:
        fields = stat.read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")
