"""How many operations the steps of a race need at least, from what the contestants counted and the model's config."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path

from speed.flops import Shape, learning, sampling
from speed.summary import Row
from speed.workloads import PAIRS, ROLLOUTS, lengths


def counted(name: str, folder: str, rows: Sequence[Row]) -> dict[str, float]:
    """10^9 operations of a step by part. rows: guerdon's counted steps."""
    shape = Shape.of(json.loads((Path(folder) / "config.json").read_text()))
    if name in PAIRS:
        return {"step": round(_pairs(name, shape, rows) / 1e9, 1)}
    work = ROLLOUTS["S" if name == "gen" else name]
    prompt = statistics.fmean(row["prompt_tokens"] for row in rows) / work.prompts
    groups = [group for step in range(len(rows)) for group in lengths(work, step)]
    parts = {"sample": sum(sampling(shape, prompt, group) for group in groups) / len(rows)}
    if name != "gen":
        parts["learn"] = sum(learning(shape, prompt, group) for group in groups) / len(rows)
    return {part: round(count / 1e9, 1) for part, count in {**parts, "step": sum(parts.values())}.items()}


def _pairs(name: str, shape: Shape, rows: Sequence[Row]) -> float:
    """The prompt of a pair once; of DPO a reference beside, of a reward model no output layer."""
    work, prompt = PAIRS[name], statistics.fmean(row["prompt_tokens"] for row in rows) / PAIRS[name].pairs
    reply = round(work.tokens - prompt)
    head, references = name == "DPO", int(name == "DPO")
    return work.pairs * learning(shape, prompt, [reply, reply], head, references)
