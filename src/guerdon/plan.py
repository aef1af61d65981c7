"""`--dry-run`: what a run would do, and an estimate of its memory and time, without loading weights or starting it.

Sizes come from the model's config and file headers; the time of a step from the floating-point
operations that sampling and training need, and how fast this machine multiplies matrices.
"""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from guerdon.method import Method
from guerdon.models.size import (
    KEPT_WIDTHS,
    PROMPT_TOKENS,
    USUAL_TOKENS,
    Size,
    decoding_slots,
    size_of,
    tokens_at_once,
)
from guerdon.run import Options, Run

LOGIT_ROWS = 1024
"""Positions whose logits are taken to be held at once."""

SAMPLING_EFFICIENCY = 0.5
TRAINING_EFFICIENCY = 0.4
"""Shares of the machine's best matrix speed that decoding many rows at once, and training, reach.

With USED they are set so that the measured run of docs/tutorials/real-model.md comes out at about its 6 s a step.
"""

OVERHEAD = 0.3
"""Seconds of a step whatever the model's size: scoring, recording, many small calls. A step of tiny is little else."""

USED = 0.5
"""Taken for the share of the allowed tokens that completions have, and of the groups that have a signal."""


@dataclass(frozen=True)
class Plan:
    """An estimate. memory_mb: by what takes it; step: what one step does; seconds: of one step and of all."""

    run: dict[str, Any]
    size: Size
    step: dict[str, int]
    memory_mb: dict[str, float]
    gflops: float
    step_seconds: float
    total_seconds: float

    def as_dict(self) -> dict[str, Any]:
        """As `--json` prints it: see docs/json.md."""
        return {**asdict(self), "estimate": True, "total_memory_mb": round(sum(self.memory_mb.values()), 1)}


def plan(run: Run) -> Plan:
    """Estimate a run. Loads the model's config and its tasks, and multiplies matrices for a moment."""
    o = run.options
    size = size_of(o.model, o.lora_rank)
    step = step_counts(run)
    speed = matrix_speed()
    seconds = OVERHEAD + step_seconds(size, step, run.method, speed)
    evaluations = (2 + (o.steps - 1) // o.eval_every if o.eval_every else 2) if run.tasks and o.eval_tasks else 0
    evaluated = o.eval_tasks * (PROMPT_TOKENS + o.max_new_tokens * USED)
    evaluation = 2 * size.weights * evaluated / (speed * SAMPLING_EFFICIENCY)
    total = seconds * o.steps + evaluations * evaluation
    return Plan(run.describe(), size, step, memory_mb(size, o, run.method), round(speed / 1e9, 1), seconds, total)


def step_counts(run: Run) -> dict[str, int]:
    """What one step does: rollouts, tokens sampled and trained on at most, and gradient steps."""
    o, method = run.options, run.method
    updates = method.epochs * method.minibatches
    if run.source is not None:
        return {"rows": o.prompts_per_step, "rollouts": 0, "sampled_tokens": 0, "gradient_steps": updates}
    rollouts = o.prompts_per_step * o.samples_per_prompt
    return {
        "prompts": o.prompts_per_step,
        "rollouts": rollouts,
        "sampled_tokens": rollouts * o.max_new_tokens,
        "gradient_steps": updates,
    }


def memory_mb(size: Size, o: Options, method: Method) -> dict[str, float]:
    """What takes memory, in MB. Models of other roles count as copies of the policy."""
    number = 4 if o.dtype == "float32" else 2
    copies = sum(role.shares is None for role in method.roles.values())
    learners = sum(not role.frozen and role.shares is None for role in method.roles.values())
    held = PROMPT_TOKENS + o.max_new_tokens
    rollouts = o.prompts_per_step * o.samples_per_prompt
    flat = o.device == "cpu" and o.dtype == "float32" and not o.gradient_checkpointing
    automatic = tokens_at_once(size.layers, size.width) if flat else USUAL_TOKENS
    whole = o.prompts_per_step * PROMPT_TOKENS + rollouts * o.max_new_tokens
    at_once = min(o.tokens_per_micro_batch or automatic, whole)
    slots = min(o.slots or decoding_slots(size, o.max_new_tokens, number), rollouts)
    # With checkpointing a layer keeps its input only, and one layer at a time all that it needs.
    kept = size.layers * size.width * (1 if o.gradient_checkpointing else KEPT_WIDTHS) + KEPT_WIDTHS * size.width
    parts = {
        "weights": size.weights * number * (1 + copies),
        "gradients": (size.trained + learners * size.weights) * number,
        "AdamW": (size.trained + learners * size.weights) * number * 2,
        "activations": at_once * kept * number,
        "logits": min(at_once, LOGIT_ROWS) * size.vocabulary * 4 * 2,
        "KV cache": slots * held * size.layers * size.kv_width * number,
    }
    return {name: round(taken / 1e6, 1) for name, taken in parts.items()}


def step_seconds(size: Size, step: dict[str, int], method: Method, speed: float) -> float:
    """Seconds of one step: 2 operations per weight and token forwards, 4 more backwards."""
    prompts = step.get("prompts", step.get("rows", 0)) * PROMPT_TOKENS  # those of a group go through once
    sampled = step["sampled_tokens"] * USED
    trained = (prompts + sampled) * USED if step["rollouts"] else prompts
    forwards = sum(role.shares is None for role in method.roles.values())
    training = (6 * method.epochs + 2 * forwards) * size.weights * trained / (speed * TRAINING_EFFICIENCY)
    sampling = 2 * size.weights * (sampled + prompts) / (speed * SAMPLING_EFFICIENCY)
    return training + (sampling if step["rollouts"] else 0.0)


def matrix_speed(width: int = 512, seconds: float = 0.2) -> float:
    """Floating-point operations per second of the fastest matrix product: others only pass by for a moment.

    numpy's: within a fifth of torch's, which takes longer to import than all of a dry run.
    """
    a = np.ones((width, width), dtype=np.float32)
    _ = a @ a
    begin, best = time.perf_counter(), math.inf
    while (now := time.perf_counter()) - begin < seconds:
        _ = a @ a
        best = min(best, time.perf_counter() - now)
    return 2 * width**3 / best


def show(found: Plan) -> None:
    """The plan for people."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from guerdon.display import clock

    console = Console(highlight=False)
    options = found.run["options"]
    console.print(Text(f"{found.run['recipe']} on {options['model']}: nothing is started. All sizes are estimates."))
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    settings = found.run["method"]["settings"]
    chosen = {name: value for name, value in {**options, **settings}.items() if value not in (None, "")}
    table.add_row("settings", Text(", ".join(f"{name} {value}" for name, value in chosen.items())))
    table.add_row("tasks", Text(str(found.run["tasks"] or "rows of a file")))
    table.add_row("a step", Text(", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in found.step.items())))
    parts = ", ".join(f"{name} {taken:,.0f}" for name, taken in found.memory_mb.items())
    table.add_row("memory", Text(f"about {sum(found.memory_mb.values()):,.0f} MB ({parts})"))
    step = f"{found.step_seconds:.2g} s" if found.step_seconds < 10 else clock(found.step_seconds)
    pace = f"about {step} a step, {clock(found.total_seconds)} in all"
    assumed = f"if completions are half as long as allowed; {found.gflops:,.0f} GFLOP/s measured"
    table.add_row("time", Text(f"{pace} ({assumed})"))
    console.print(table)
