"""How a trainer of TRL takes turns: a callback that holds it before every step, and settings that all share."""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import Any

from transformers import TrainerCallback

from speed.job import Job
from speed.turns import MOST, Turn


class Held(TrainerCallback):
    """Waits for a line before each optimiser step, and answers with what the step took after it.

    sample: seconds of the step in hand that went into sampling; add to it.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self.turn: Turn | None = None
        self.sample = 0.0
        self._counts: Counter[str] = Counter()

    def count(self, name: str, number: int) -> None:
        """Something of the step in hand, summed up."""
        self._counts[name] += number

    def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
        if self.turn is None:
            self._wait()

    def on_step_end(self, *args: Any, **kwargs: Any) -> None:
        assert self.turn is not None
        self.turn.answer(self.sample, **self._counts)
        self._wait()

    def _wait(self) -> None:
        if not sys.stdin.readline():
            os._exit(0)  # the race is over; a trainer has no way to be told so in the middle
        self.sample, self._counts = 0.0, Counter()
        self.turn = Turn(self.device)


def common(job: Job) -> dict[str, Any]:
    """Settings of every trainer: TRL at its fastest here, writing and reporting nothing."""
    return {
        "output_dir": f"{job.scratch}/trl",
        "use_cpu": job.device == "cpu",
        "bf16": job.dtype == "bfloat16",
        "gradient_checkpointing": False,
        "max_steps": MOST,
        "learning_rate": 1e-6,
        "lr_scheduler_type": "constant",
        "report_to": [],
        "save_strategy": "no",
        "disable_tqdm": True,
    }


def go(trainer: Any) -> None:
    """Train until the race is over, without a word."""
    trainer.log = lambda *args, **kwargs: None
    trainer.train()
