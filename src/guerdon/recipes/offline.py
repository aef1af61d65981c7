"""Recipes of methods that learn from rows of a file: demonstrations, pairs of a better and a worse reply, scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from inspect import Parameter
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

from guerdon.evaluation.pairs import by_head, by_likelihood, rank_pairs
from guerdon.method import Method
from guerdon.recipes import data
from guerdon.recipes.compose import compose
from guerdon.recipes.parts import task_set
from guerdon.rollouts.base import derive
from guerdon.run import Measure, Options, Run
from guerdon.sources import Dataset

if TYPE_CHECKING:
    from guerdon.parts import Parts
    from guerdon.types import Group

WITHOUT = ("tasks", "samples_per_prompt", "max_lag", "max_gap")
"""Options that say something about rollouts in training; there are none here."""

TASKS = Parameter(
    "tasks",
    Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[str | None, "tasks to evaluate on, before, during and after; none: no evaluation"],
)


HELDOUT = Parameter(
    "heldout",
    Parameter.KEYWORD_ONLY,
    default="0.1",
    annotation=Annotated[str, "rows to evaluate on: a file, or the share of the rows that is held out; 0: none"],
)


@dataclass(frozen=True)
class Rows:
    """Makes the source of a run from a file, once its tokenizer is there. heldout: a file, or a share of the rows."""

    file: str
    read: data.Read
    heldout: str = "0"

    def __call__(self, parts: Parts) -> Dataset:
        options = parts.run.options
        return Dataset(self._split(parts)[0], options.prompts_per_step, options.seed)

    def ranking(self, parts: Parts) -> Measure | None:
        """How well what is trained ranks the pairs that are held out."""
        held = self._split(parts)[1]
        if not held:
            return None
        if parts.run.method.scores is not None:
            rank = by_head(parts.engines["policy"], parts.run.method.scores.names[0])
        else:
            rank = by_likelihood(parts.engines["policy"], parts.engines.get("ref"))
        return lambda: rank_pairs(held, rank)

    def _split(self, parts: Parts) -> tuple[list[Group], list[Group]]:
        """(to learn from, held out): by a hash of the prompt, so that no prompt is in both."""
        rows = data.groups(self.file, self.read, parts.chat)
        share = _share(self.heldout)
        if share is None:
            return rows, data.groups(self.heldout, self.read, parts.chat)
        held = [derive("held out", str(group[0].task.prompt)) % 10**6 < share * 10**6 for group in rows]
        kept = [group for group, out in zip(rows, held, strict=True) if not out]
        return kept, [group for group, out in zip(rows, held, strict=True) if out]


def _share(text: str) -> float | None:
    """'0.1' as a number, None for the name of a file. ValueError for a number that is no share."""
    try:
        share = float(text)
    except ValueError:
        return None
    if not 0 <= share < 1:
        raise ValueError(f"heldout is {text}; expected a share from 0 to below 1, or a file")
    return share


def demonstrations(constructor: Callable[..., Method], module: ModuleType) -> Callable[..., Run]:
    """The recipe of a method that imitates: rows of prompt and completion, or of messages."""
    text = "rows with prompt and completion, or messages"
    return compose(constructor, module, _Build(data.demonstration), further=(_file(text), TASKS), without=WITHOUT)


def preferences(constructor: Callable[..., Method], module: ModuleType) -> Callable[..., Run]:
    """The recipe of a method that learns from pairs: rows of prompt, chosen and rejected."""
    text = "rows with prompt, chosen and rejected"
    return compose(constructor, module, _Build(data.preference), further=(_file(text), TASKS), without=WITHOUT)


def rewards(constructor: Callable[..., Method], module: ModuleType) -> Callable[..., Run]:
    """The recipe of a reward model: rows of the kind that the module's `READ` names, pairs unless it has one."""
    read: data.Read = getattr(module, "READ", data.preference)
    text = f"rows of the layouts {', '.join(read.layouts)}"
    further = (_file(text), HELDOUT)
    without = (*WITHOUT, *SPEAKING)
    return compose(constructor, module, _Build(read), further=further, without=without)


SPEAKING: tuple[str, ...] = (
    *("reward", "worth", "reward_timeout", "unsafe_local_code", "watch", "eval_tasks"),
    *("max_new_tokens", "temperature", "top_p", "top_k", "min_p", "stop", "slots"),
)
"""Options that say something about what a policy says; a reward model says nothing."""


def _file(text: str) -> Parameter:
    return Parameter("data", Parameter.KEYWORD_ONLY, annotation=Annotated[str, f"a .jsonl or .parquet file: {text}"])


@dataclass(frozen=True)
class _Build:
    """Makes the run of a method on rows that are read in one way."""

    read: data.Read

    def __call__(self, method: Method, options: Options, further: Mapping[str, Any]) -> Run:
        options = replace(options, tasks=further.get("tasks") or "")
        tasks, rewards = task_set(options) if options.tasks else (None, ())
        rows = Rows(further["data"], self.read, further.get("heldout", "0"))
        measure = rows.ranking if "heldout" in further and self.read is data.preference else None
        return Run(method, options, tasks, rewards, source=rows, measure=measure)
