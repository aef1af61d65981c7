"""A run as a value: what is learned, from what, how long, on which model; and where it lives on disk.

A recipe returns a `Run`; nothing is loaded or started by making one. The folder of a run is complete without any
service: `run.json` (how to make the same run again), `metrics.jsonl`, `episodes/`, `checkpoints/`, `model/`,
`report.html`.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from guerdon.files import write_whole
from guerdon.method import Method
from guerdon.samplers.base import Sampling
from guerdon.types import EMPTY

if TYPE_CHECKING:
    from guerdon.evaluation.intervals import Interval
    from guerdon.parts import Parts
    from guerdon.rewards.base import Reward
    from guerdon.rewards.scoring import Fault
    from guerdon.sources import Source
    from guerdon.tasks.base import TaskSet
    from guerdon.types import Group


def option(default: Any, text: str) -> Any:
    """A field of `Options`: its default, and the line that `--help` shows."""
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class Options:
    """What every run can be told, whatever its method. Each field is an option of the command line."""

    model: str = option("tiny", "policy to start from: tiny, smollm2-135m, a Hugging Face folder, or a hub name")
    tasks: str = option("arithmetic", "what to learn: a built-in set, rg:NAME, a .jsonl/.parquet/.csv file, hub:NAME")
    reward: str | None = option(
        None, "how to score: names or file.py:function, such as 'math,0.2*think_format' (default: the tasks' own)"
    )
    worth: str = option("", "what verdicts are worth, such as cannot_tell=none,wrong=-0.5 (default: right 1, else 0)")
    reward_timeout: float = option(10.0, "seconds that a reward of yours may take for one call")
    unsafe_local_code: bool = option(False, "run programs that the policy writes without isolation, if need be")
    watch: str | None = option("accuracy", "a metric, or a reward of weight 0, that must not fall while rewards rise")
    steps: int = option(150, "updates to make")
    prompts_per_step: int = option(64, "tasks drawn for one update")
    samples_per_prompt: int = option(8, "completions per task: the group")
    max_new_tokens: int = option(16, "longest completion, in tokens")
    temperature: float = option(1.0, "sampling temperature in training")
    top_p: float = option(1.0, "nucleus sampling in training; 1 is off")
    top_k: int = option(0, "sample from the k likeliest tokens only; 0 is off")
    min_p: float = option(0.0, "rule out tokens below this share of the likeliest; 0 is off")
    stop: str | None = option(None, "a string that ends a completion; \\n is a line break")
    lr: float | None = option(None, "learning rate of AdamW (default: 5e-4 for tiny, else 1e-5, with LoRA 1e-4)")
    schedule: Literal["constant", "linear", "cosine"] = option("linear", "learning rate after the warm-up")
    warmup: int = option(0, "optimiser steps over which the learning rate rises")
    weight_decay: float = option(0.0, "AdamW weight decay")
    max_grad_norm: float = option(1.0, "gradient norm to clip to; 0 clips nothing")
    seed: int = option(0, "seeds tasks, samples and order")
    eval_every: int = option(25, "updates between evaluations on held-out tasks; 0: only before and after")
    eval_tasks: int = option(256, "held-out tasks per evaluation, one completion each; 0: no evaluation")
    save_every: int = option(50, "updates between checkpoints; 0: only at the end")
    keep: int = option(2, "checkpoints to keep")
    max_lag: int = option(0, "versions that training data may be older than the policy; 0 is synchronous")
    max_gap: float | None = option(
        None,
        "stop when sampler and trainer differ by more nats on average (default 0.01, 0.1 in half precision; 0: never)",
    )
    tokens_per_micro_batch: int = option(0, "tokens that go through the model at once in training; 0 chooses")
    slots: int = option(0, "completions decoded at once (0: as many as 1 GB of keys and values holds, up to 512)")
    dtype: Literal["float32", "bfloat16", "float16"] = option("float32", "number format of the weights")
    device: str = option("cpu", "cpu, cuda, cuda:1, ...")
    lora_rank: int = option(0, "train adapters of this rank instead of all weights; 0: all weights")
    gradient_checkpointing: bool = option(False, "trade time for memory in training")
    end_token: str | None = option(None, "end token, for a tokenizer that names none")
    chat_template: bool | None = option(None, "use the tokenizer's chat template (default: if it has one)")

    def __post_init__(self) -> None:
        least = {"steps": 1, "prompts_per_step": 1, "samples_per_prompt": 1, "keep": 1}
        least |= {"max_new_tokens": 1, "tokens_per_micro_batch": 0}
        least |= dict.fromkeys(("slots", "eval_every", "eval_tasks", "save_every", "max_lag", "lora_rank"), 0)
        least |= dict.fromkeys(("warmup", "weight_decay", "max_grad_norm"), 0)
        for name, bound in least.items():
            if getattr(self, name) < bound:
                raise ValueError(f"{name} is {getattr(self, name)}; expected at least {bound}")
        if self.reward_timeout <= 0:
            raise ValueError(f"reward_timeout is {self.reward_timeout}; expected seconds, more than 0")
        if self.temperature <= 0:
            raise ValueError(f"temperature is {self.temperature}; training needs more than 0: greedy says nothing new")

    @property
    def learning_rate(self) -> float:
        """`lr`, or what suits the model: a tiny policy bears steps that would wreck a pretrained one."""
        if self.lr is not None:
            return self.lr
        return 5e-4 if self.model == "tiny" else 1e-4 if self.lora_rank else 1e-5

    @property
    def gap_limit(self) -> float:
        """`max_gap`, or what the kernels of the number format stay below when all is well."""
        if self.max_gap is not None:
            return self.max_gap
        return 0.01 if self.dtype == "float32" else 0.1

    def sampling(self, stop_tokens: tuple[int, ...]) -> Sampling:
        return Sampling(
            max_tokens=self.max_new_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            top_k=self.top_k,
            min_p=self.min_p,
            stop_tokens=stop_tokens,
            stop_strings=(self.stop.replace("\\n", "\n"),) if self.stop else (),
        )


class Measured(Protocol):
    """What an evaluation gives. groups: the episodes that it is about."""

    @property
    def accuracy(self) -> Interval: ...
    @property
    def groups(self) -> list[Group]: ...
    @property
    def faults(self) -> Sequence[Fault]: ...
    def as_dict(self) -> dict[str, Any]: ...


Measure = Callable[[], Measured]
"""Evaluates what is being trained, as it is now."""


@dataclass(frozen=True)
class Run:
    """A run that has not started. source: None for rollouts on `tasks`; else made from the loaded parts.

    measure: how it is evaluated where that is not by held-out tasks.
    """

    method: Method
    options: Options = field(default_factory=Options)
    tasks: TaskSet | None = None
    rewards: tuple[Reward, ...] = ()
    source: Callable[[Parts], Source] | None = None
    measure: Callable[[Parts], Measure | None] | None = None
    recipe: str = ""
    """Name of the recipe or file.py:function that made this, for resuming."""
    arguments: Mapping[str, Any] = EMPTY
    """What the recipe was called with."""

    def __post_init__(self) -> None:
        if self.source is None and self.tasks is None:
            raise ValueError("a run needs tasks to roll out, or a source of its own")
        least = max((e.min_group for e in [self.method.estimator] if e), default=1)
        if self.source is None and self.options.samples_per_prompt < least:
            raise ValueError(
                f"samples_per_prompt is {self.options.samples_per_prompt}; this method compares completions of one "
                f"prompt and needs at least {least}"
            )
        if self.source is None and self.method.minibatches > self.options.prompts_per_step:
            raise ValueError(
                f"minibatches is {self.method.minibatches} and prompts_per_step {self.options.prompts_per_step}; a "
                "minibatch is made of whole groups, so there must be at least as many prompts"
            )
        names = [reward.name for reward in self.scoring]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"several rewards are called {twice[0]!r}; scores are kept by name, so give each its own")

    @property
    def scoring(self) -> tuple[Reward, ...]:
        """Every reward that training episodes get: the run's, then those that the method brings along."""
        return (*self.rewards, *self.method.rewards)

    def describe(self) -> dict[str, Any]:
        """Everything about the run that can be written down."""
        return {
            "recipe": self.recipe,
            "arguments": dict(self.arguments),
            "options": {**asdict(self.options), "lr": self.options.learning_rate, "max_gap": self.options.gap_limit},
            "method": {
                "settings": {k: _plain(v) for k, v in self.method.settings.items()},
                "terms": [_named(term) for term in self.method.terms],
                "estimator": _named(self.method.estimator),
                "adaptive": _named(self.method.adaptive),
                "scores": _named(self.method.scores),
                "filters": [_named(f) for f in self.method.filters],
                "roles": {k: _named(v) for k, v in self.method.roles.items()},
                "epochs": self.method.epochs,
                "minibatches": self.method.minibatches,
            },
            "tasks": self.tasks.describe if self.tasks else None,
            "rewards": {reward.name: reward.weight for reward in self.scoring},
        }


def _named(value: Any) -> str:
    """How a value prints, its functions by name: an address says nothing and differs from run to run."""
    return re.sub(r"<function ([\w.<>]+) at 0x[0-9a-f]+>", r"\1", repr(value))


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else getattr(value, "__name__", repr(value))


@dataclass
class Budget:
    """What a run has used so far. Comparisons are made at equal budget, never at equal steps."""

    sampled_tokens: int = 0
    trained_tokens: int = 0
    rollouts: int = 0
    gradient_steps: int = 0
    judge_calls: int = 0
    judge_tokens: int = 0
    seconds: float = 0.0

    def as_dict(self) -> dict[str, float]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


class FolderTaken(FileExistsError):
    """A run folder already holds a run."""


@dataclass(frozen=True)
class RunFolder:
    """The places in a run's folder."""

    path: Path

    @property
    def record(self) -> Path:
        return self.path / "run.json"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def model(self) -> Path:
        return self.path / "model"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    def episodes(self, step: int, kind: str = "step") -> Path:
        return self.path / "episodes" / f"{kind}-{step:06d}.parquet"

    def create(self, run: Run) -> None:
        """Make the folder and write `run.json`. FolderTaken when it holds a run, OSError when it cannot be written."""
        if self.record.exists():
            raise FolderTaken(f"{self.path} already holds a run; resume it with --resume {self.path}, or choose --out")
        if self.path.exists() and any(self.path.iterdir()):
            raise FolderTaken(f"{self.path} is not empty and is no run folder; choose another --out")
        self.write(run)

    def write(self, run: Run) -> None:
        """Write `run.json`, also over an older one: of a resumed run that was given other arguments."""
        try:
            record = {**run.describe(), "versions": versions(), "hardware": hardware()}
            write_whole(self.record, json.dumps(record, indent=2, default=str) + "\n")
        except OSError as error:
            raise OSError(f"cannot write the run folder {self.path}: {error}; choose another with --out") from error

    def read(self) -> dict[str, Any]:
        if not self.record.exists():
            raise FileNotFoundError(f"{self.path} is no run folder: it has no run.json")
        try:
            return dict(json.loads(self.record.read_text(encoding="utf-8")))
        except json.JSONDecodeError as error:
            raise ValueError(f"{self.record} is damaged ({error}); expected the JSON that guerdon wrote") from error

    def rewind(self, step: int) -> None:
        """Remove episodes of steps after `step`: the resumed run will write them again."""
        for path in (self.path / "episodes").glob("*-*.parquet"):
            number = path.stem.split("-")[-1]
            if number.isdigit() and int(number) > step:
                path.unlink()


def fresh_folder(name: str, root: Path = Path("runs")) -> Path:
    """`runs/NAME-1`, or the first number that is free."""
    number = 1
    while (root / f"{name}-{number}").exists():
        number += 1
    return root / f"{name}-{number}"


def versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for package in ("guerdon", "torch", "transformers", "tokenizers", "numpy", "peft", "reasoning-gym"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def hardware() -> dict[str, Any]:
    import torch

    return {
        "machine": platform.machine(),
        "system": platform.platform(),
        "cpus": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "cuda": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "free_disk_gb": round(shutil.disk_usage(Path.cwd()).free / 1e9, 1),
    }
