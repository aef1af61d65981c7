"""A run in a process of its own that dies at a given point, without a word. Imported by that process alone."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaForCausalLM  # noqa: F401  loaded before the fork, so that each run starts at once

from guerdon.methods.grpo import grpo
from guerdon.runner import execute
from tests.runs import tiny_run

Point = tuple[str, int]
"""A function of os or shutil, and the number of its call, from 0, before which the process is killed."""


def work(model: Path, out: Path, point: Point | None = None, resume: bool = False, options: Any = None) -> None:
    torch.set_num_threads(1)
    if point:
        _die_before(*point)
    execute(tiny_run(model, grpo(), **(options or {})), out, resume=resume)


def _die_before(name: str, number: int) -> None:
    module: Any = shutil if name == "rmtree" else os
    real = getattr(module, name)
    left = iter(range(number))

    def mortal(*args: Any, **kwargs: Any) -> Any:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **kwargs)

    setattr(module, name, mortal)
