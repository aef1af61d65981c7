"""Recipes of methods that learn from rows of a file: demonstrations, or pairs of a better and a worse reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import Parameter
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

from guerdon.method import Method
from guerdon.recipes import data
from guerdon.recipes.compose import compose
from guerdon.recipes.parts import task_set
from guerdon.run import Options, Run
from guerdon.sources import Dataset

if TYPE_CHECKING:
    from guerdon.parts import Parts

WITHOUT = ("tasks", "samples_per_prompt", "max_lag", "max_gap")
"""Options that say something about rollouts in training; there are none here."""

TASKS = Parameter(
    "tasks",
    Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[str | None, "tasks to evaluate on, before, during and after; none: no evaluation"],
)


@dataclass(frozen=True)
class Rows:
    """Makes the source of a run from a file, once its tokenizer is there."""

    file: str
    read: data.Read

    def __call__(self, parts: Parts) -> Dataset:
        options = parts.run.options
        return Dataset(data.groups(self.file, self.read, parts.chat), options.prompts_per_step, options.seed)


def demonstrations(constructor: Callable[..., Method], module: ModuleType) -> Callable[..., Run]:
    """The recipe of a method that imitates: rows of prompt and completion, or of messages."""
    return _rows(constructor, module, data.demonstration, "rows with prompt and completion, or messages")


def preferences(constructor: Callable[..., Method], module: ModuleType) -> Callable[..., Run]:
    """The recipe of a method that learns from pairs: rows of prompt, chosen and rejected."""
    return _rows(constructor, module, data.preference, "rows with prompt, chosen and rejected")


def _rows(constructor: Callable[..., Method], module: ModuleType, read: data.Read, text: str) -> Callable[..., Run]:
    file = Parameter("data", Parameter.KEYWORD_ONLY, annotation=Annotated[str, f"a .jsonl or .parquet file: {text}"])

    def build(method: Method, options: Options, further: Mapping[str, Any]) -> Run:
        options = replace(options, tasks=further["tasks"] or "")
        tasks, rewards = task_set(options) if options.tasks else (None, ())
        return Run(method, options, tasks, rewards, source=Rows(further["data"], read))

    return compose(constructor, module, build, further=(file, TASKS), without=WITHOUT)
