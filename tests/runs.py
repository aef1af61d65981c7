"""Runs that take a fraction of a second: a random two-layer Llama, short sums, and a reward that always varies."""

from __future__ import annotations

import dataclasses
import os
import signal
from pathlib import Path
from typing import Any

from guerdon.method import Method
from guerdon.metrics import Event, read_events
from guerdon.rewards.base import PerEpisode
from guerdon.run import Options, Run
from guerdon.tasks.builtin import arithmetic
from guerdon.types import Episode


def digits(episode: Episode) -> float:
    """More for more digits, so that groups differ from the first step on."""
    return sum(letter.isdigit() for letter in episode.reply) / 4


def tiny_run(model: Path, method: Method, **options: Any) -> Run:
    reward = PerEpisode("digits", digits)
    small = {"prompts_per_step": 2, "samples_per_prompt": 4, "max_new_tokens": 4, "steps": 4, "save_every": 2}
    settings = {**small, "eval_every": 2, "eval_tasks": 4, "lr": 1e-2, "tokens_per_micro_batch": 64, **options}
    tasks = dataclasses.replace(arithmetic(1), reward=reward)
    return Run(method, Options(model=str(model), **settings), tasks, rewards=(reward,))


def signal_at(step: int, number: int = signal.SIGINT) -> Any:
    """A sink that sends this process a signal when a step is logged."""

    def sink(event: Event) -> None:
        if event["event"] == "step" and event["step"] == step:
            os.kill(os.getpid(), number)

    return sink


class Crash(RuntimeError):
    """Raised by a sink: the process dies, as far as the run is concerned."""


def crash_at(step: int, kind: str = "step") -> Any:
    def sink(event: Event) -> None:
        if event["event"] == kind and event["step"] == step:
            raise Crash

    return sink


def history(folder: Path) -> list[Any]:
    """Steps and evaluations as they were logged, without times."""
    return [_told(event) for event in read_events(folder / "metrics.jsonl") if event["event"] in ("step", "eval")]


def _told(event: Event) -> Any:
    kept = {name: value for name, value in event.items() if name not in ("time", "budget", "metrics")}
    for part in ("metrics", "budget"):
        if part in event:
            kept[part] = {name: value for name, value in event[part].items() if not name.startswith("seconds")}
    return kept
