"""guerdon's math grader and math-verify alone on one corpus: python bench/grader_corpus.py [--deadline 10] [--show]

Grades every pair of tests/rewards/verify/math/corpus.jsonl, each grader in a process of its own that is killed and
replaced when a pair takes longer than the deadline (seconds), and prints one row each: false positives (unequal, graded
right), false negatives (equal, not graded right), errors (raised), hangs (killed), and seconds for all pairs without
the loading of libraries. math-verify reads LaTeX only where it is marked, so it gets bare answers in a box.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent.parent / "tests" / "rewards" / "verify" / "math" / "corpus.jsonl"
LOADING = 120.0
"""Seconds a fresh grader may take to load its libraries."""
Grade = Callable[[dict[str, Any]], bool]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deadline", type=float, default=10.0, help="seconds per pair")
    parser.add_argument("--show", action="store_true", help="print the pairs that were graded wrongly")
    parser.add_argument("--serve", choices=sorted(GRADERS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(GRADERS[given.serve]())
        return
    pairs = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    print(f"{len(pairs)} pairs, {sum(not pair['equal'] for pair in pairs)} of them unequal")
    columns = "false positives", "false negatives", "errors", "hangs"
    print(f"{'grader':<12}" + "".join(f"{column:>17}" for column in columns) + f"{'seconds':>10}")
    for name in GRADERS:
        tally = race(name, pairs, given.deadline)
        counts = "".join(f"{len(tally.lists[column]):>17}" for column in columns)
        print(f"{name:<12}{counts}{tally.seconds:>10.1f}", flush=True)
        for column in columns if given.show else ():
            for pair in tally.lists[column]:
                print(f"    {column}: {pair['type']}: gold {pair['gold']!r}, text {pair['text']!r}")


@dataclass
class Tally:
    """What one grader made of the corpus: the offending pairs by kind, and the seconds all pairs took."""

    lists: dict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: {"false positives": [], "false negatives": [], "errors": [], "hangs": []}
    )
    seconds: float = 0.0


def race(name: str, pairs: list[dict[str, Any]], deadline: float) -> Tally:
    tally = Tally()
    child = Child(name)
    for pair in pairs:
        began = time.perf_counter()
        said = child.ask(pair, deadline)
        tally.seconds += time.perf_counter() - began
        if said == "hang":
            child.kill()
            child = Child(name)
        kind = {"hang": "hangs", "error": "errors"}.get(said)
        if kind is None and said != ("right" if pair["equal"] else "other"):
            kind = "false negatives" if pair["equal"] else "false positives"
        if kind is not None:
            tally.lists[kind].append(pair)
    child.kill()
    return tally


class Child:
    """A process that grades one pair a line; what it says arrives over a queue, so that waiting can end."""

    def __init__(self, name: str) -> None:
        command = [sys.executable, __file__, "--serve", name]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.said: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        if self._next(LOADING) != "ready":
            raise RuntimeError(f"the grader {name} did not load within {LOADING:.0f} s; its own error stands above")

    def ask(self, pair: dict[str, Any], deadline: float) -> str:
        """right, other, error, or hang (also when the process died)."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(pair) + "\n")
        self.process.stdin.flush()
        return self._next(deadline)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.put(line.strip())
        self.said.put("hang")

    def _next(self, deadline: float) -> str:
        try:
            return self.said.get(timeout=deadline)
        except queue.Empty:
            return "hang"


def serve(grade: Grade) -> None:
    """The child's side: whatever the libraries print goes to stderr, so that answers stay one word a line."""
    answers, sys.stdout = sys.stdout, sys.stderr
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        try:
            said = "right" if grade(json.loads(line)) else "other"
        except Exception as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            said = "error"
        print(said, file=answers, flush=True)


def guerdon() -> Grade:
    from guerdon.rewards.verify.math.grade import grade

    grade("1", "1")
    return lambda pair: bool(grade(pair["gold"], pair["text"])["status"] == "right")


def math_verify() -> Grade:
    import logging

    from math_verify import parse, verify

    logging.disable(logging.CRITICAL)

    def read(text: str, bare: bool) -> Any:
        return parse(f"\\boxed{{{text}}}" if bare else text, parsing_timeout=None)

    def graded(pair: dict[str, Any]) -> bool:
        gold = read(pair["gold"], "boxed" not in pair["gold"])
        return bool(verify(gold, read(pair["text"], pair["swap"]), timeout_seconds=None))

    read("1", True)
    return graded


GRADERS: dict[str, Callable[[], Grade]] = {"guerdon": guerdon, "math-verify": math_verify}

if __name__ == "__main__":
    main()
