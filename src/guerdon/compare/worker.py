"""A process that does the jobs of a comparison: one JSON line in for each, JSON lines out.

In: `{"arm", "seed"}`. Out: `{"ready"}`; while it works `{"spent", "of"}`, at most some a second; at the end `{"end"}`:
'done', 'stopped' (asked to, and saved), or 'failed' with the `error`. SIGTERM asks to stop; so does the end of
the process that started it. What rewards print goes to standard error.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

EVERY = 0.5
"""Seconds between two words about how far it is."""


def main(folder: Path) -> None:
    """Do what comes in until nothing does."""
    out = _own_output()
    stop = _stop_when_asked()
    from guerdon.commands.policy import quieten
    from guerdon.compare.base import Comparison

    quieten()
    comparison = Comparison.from_dict(json.loads((folder / "comparison.json").read_text(encoding="utf-8")))
    _say(out, ready=True)
    for line in sys.stdin:
        _say(out, **_outcome(comparison, folder, json.loads(line), out, stop))
        if stop():
            return


def _outcome(
    comparison: Any, folder: Path, job: dict[str, Any], out: IO[str], stop: Callable[[], bool]
) -> dict[str, Any]:
    from guerdon.compare.jobs import Job, do

    last = 0.0

    def tell(spent: int, of: int) -> None:
        nonlocal last
        if time.monotonic() - last > EVERY:
            last = time.monotonic()
            _say(out, spent=spent, of=of)

    try:
        return {"end": "done" if do(comparison, folder, Job(**job), tell, stop) else "stopped"}
    except Exception as error:
        return {"end": "failed", "error": f"{type(error).__name__}: {error}"}


def _own_output() -> IO[str]:
    """Standard output for our lines alone; whatever else prints is sent to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return out


def _stop_when_asked() -> Callable[[], bool]:
    asked = False
    parent = os.getppid()

    def ask(number: int, frame: Any) -> None:
        nonlocal asked
        asked = True

    signal.signal(signal.SIGTERM, ask)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started us, who asks
    return lambda: asked or os.getppid() != parent


def _say(out: IO[str], **fields: Any) -> None:
    out.write(json.dumps(fields) + "\n")
    out.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
