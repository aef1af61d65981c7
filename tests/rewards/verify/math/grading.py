"""Grading many pairs in one child process under one deadline, so that a hang is a failed test and not a stuck suite."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus.jsonl"

_CHILD = """
import json, sys
from guerdon.rewards.verify.math.grade import grade
answers, sys.stdout = sys.stdout, sys.stderr
for line in sys.stdin:
    print(json.dumps(grade(*json.loads(line))), file=answers, flush=True)
"""


def corpus() -> list[dict]:
    return [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]


def graded(pairs: Sequence[tuple[str, str]], deadline: float = 240.0) -> list[dict]:
    """What `grade` answers to each (gold, text), in order. AssertionError names the pair that hung or crashed it."""
    lines = "".join(json.dumps(pair) + "\n" for pair in pairs)
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        out, errors = child.communicate(lines, timeout=deadline)
        end = f"ended with {child.returncode}"
    except subprocess.TimeoutExpired:
        child.kill()
        out, errors = child.communicate()
        end = f"did not end within {deadline:.0f} s"
    answers = [json.loads(line) for line in out.splitlines()]
    if len(answers) < len(pairs):
        gold, text = pairs[len(answers)]
        raise AssertionError(f"grade {end} at gold {gold[:200]!r}, text {text[:200]!r}: {errors[-2000:]}")
    return answers
