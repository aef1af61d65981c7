"""Recipes of methods that learn from rows of a file: demonstrations, pairs of a better and a worse reply, scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

from guerdon.data.length import OnLong, shortened
from guerdon.data.row import Row
from guerdon.method import Method
from guerdon.recipes import data
from guerdon.recipes.compose import compose
from guerdon.recipes.parts import task_set
from guerdon.rollouts.base import derive
from guerdon.run import Measure, Options, Run
from guerdon.sources import Dataset

if TYPE_CHECKING:
    from guerdon.evaluation.fit import FitOf
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


WITHOUT_STEPS = (*WITHOUT, "steps")
"""`steps` is a key of its own here, beside `passes`."""

HELDOUT = Parameter(
    "heldout",
    Parameter.KEYWORD_ONLY,
    default="0.1",
    annotation=Annotated[str, "rows to evaluate on: a file, or the share of the rows that is held out; 0: none"],
)

HELDOUT_PAIRS = Parameter(
    "heldout",
    Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        str | None, "pairs to evaluate on: a file, or the share that is held out; 0: none (default: 0.1 without tasks)"
    ],
)

HELDOUT_FILE = Parameter(
    "heldout",
    Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[str | None, "a file of pairs to evaluate on: how many are ranked right"],
)


PASSES = (
    Parameter(
        "steps",
        Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[int | None, f"updates to make (default: {Options.steps}, or what `passes` comes to)"],
    ),
    Parameter(
        "passes",
        Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[
            float | None, "passes over the rows that are learned, instead of steps; 0.5 is half of them"
        ],
    ),
)

LENGTH = (
    Parameter(
        "max_tokens",
        Parameter.KEYWORD_ONLY,
        default=0,
        annotation=Annotated[int, "longest prompt and reply together, in tokens; 0: what the model can hold"],
    ),
    Parameter(
        "on_long",
        Parameter.KEYWORD_ONLY,
        default="error",
        annotation=Annotated[OnLong, "longer rows: an error, cut at the end, or dropped; both of these are counted"],
    ),
)

Arrange = Callable[[Sequence["Group"], int], "list[Group]"]
"""(rows, seed) -> the groups that are learned from, where these are not the rows themselves."""


@dataclass(frozen=True)
class Rows:
    """Makes the source of a run from a file, once its tokenizer is there. heldout: a file, or a share of the rows.

    max_tokens, on_long: what becomes of long rows; 0 is the model's own limit. arrange: what is made of all rows.
    fit: how well held-out rows are told, where they are no pairs.
    """

    file: str
    read: data.Read
    heldout: str = "0"
    max_tokens: int = 0
    on_long: OnLong = "error"
    arrange: Arrange | None = None
    fit: FitOf | None = None

    def __call__(self, parts: Parts) -> Dataset:
        options = parts.run.options
        groups = self._split(parts)[0]
        groups = self.arrange(groups, options.seed) if self.arrange else groups
        return Dataset(groups, options.prompts_per_step, options.seed)

    def ranking(self, parts: Parts) -> Measure | None:
        """How well what is trained ranks the pairs that are held out: as its loss does, by sum or by mean."""
        from guerdon.evaluation.pairs import by_head, by_likelihood, rank_pairs
        from guerdon.losses.preference import token_sum

        held = self._split(parts)[1]
        if not held:
            return None
        method, fit = parts.run.method, self.fit
        if method.scores is not None and fit is not None:
            engine, heads = parts.engines["policy"], method.scores.names
            return lambda: fit(held, engine, heads)
        if method.scores is not None:
            rank = by_head(parts.engines["policy"], method.scores.names[0])
        else:
            levels = [getattr(term.objective, "level", None) for term in method.terms]
            level = next((level for level in levels if level), token_sum)
            rank = by_likelihood(parts.engines["policy"], parts.engines.get("ref"), level)
        return lambda: rank_pairs(held, rank)

    def count(self) -> int:
        """How many rows of the file are learned from, before any is found too long or cannot be written."""
        share = _share(self.heldout) or 0.0
        return sum(not _is_held(row, share) for row in data.rows(self.file, self.read))

    def _split(self, parts: Parts) -> tuple[list[Group], list[Group]]:
        """(to learn from, held out): by a hash of the prompt, so that no prompt is in both."""
        share = _share(self.heldout)
        found = data.written_rows(self.file, self.read, parts.chat)
        kept = self._short([group for row, group in found if not _is_held(row, share or 0.0)], self.file, parts)
        if share is None:  # pairs, whatever is learned from, where nothing else is measured
            read = self.read if self.fit else data.preference
            return kept, self._short(data.groups(self.heldout, read, parts.chat), self.heldout, parts)
        return kept, self._short([group for row, group in found if _is_held(row, share)], self.file, parts)

    def _short(self, groups: list[Group], file: str, parts: Parts) -> list[Group]:
        limit = self.max_tokens or getattr(parts.policy.module.config, "max_position_embeddings", None)
        return shortened(groups, limit, self.on_long, file) if limit and groups else groups


def _is_held(row: Row, share: float) -> bool:
    return derive("held out", row.asked) % 10**6 < share * 10**6


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
    further = (_file(text), TASKS, *PASSES, *LENGTH)
    return compose(constructor, module, OnRows(data.demonstration), further, without=WITHOUT_STEPS)


def preferences(constructor: Callable[..., Method], module: ModuleType) -> Callable[..., Run]:
    """The recipe of a method that learns from pairs: rows of prompt, chosen and rejected."""
    further = (_file("rows with prompt, chosen and rejected"), TASKS, HELDOUT_PAIRS, *PASSES, *LENGTH)
    return compose(constructor, module, OnRows(data.preference), further, without=WITHOUT_STEPS)


def labelled(constructor: Callable[..., Method], module: ModuleType) -> Callable[..., Run]:
    """The recipe of KTO: rows of prompt, completion and label, each beside a completion of another row."""
    from guerdon.methods.kto import with_mismatched

    further = (_file("rows with prompt, completion and label"), TASKS, HELDOUT_FILE, *PASSES, *LENGTH)
    return compose(constructor, module, OnRows(data.labelled, with_mismatched), further, without=WITHOUT_STEPS)


def rewards(constructor: Callable[..., Method], module: ModuleType) -> Callable[..., Run]:
    """The recipe of a reward model: pairs, unless `READINGS` has other rows for it."""
    from guerdon.recipes.reward_rows import READINGS

    reading = READINGS.get(constructor.__name__)
    build = OnRows(reading.read, fit=reading.fit) if reading else OnRows(data.preference)
    further = (_file(f"rows of the layouts {', '.join(build.read.layouts)}"), HELDOUT, *PASSES, *LENGTH)
    return compose(constructor, module, build, further, without=(*WITHOUT_STEPS, *SPEAKING))


SPEAKING: tuple[str, ...] = (
    *("reward", "worth", "reward_timeout", "unsafe_local_code", "watch", "eval_tasks"),
    *("max_new_tokens", "temperature", "top_p", "top_k", "min_p", "stop", "slots"),
)
"""Options that say something about what a policy says; a reward model says nothing."""


def _file(text: str) -> Parameter:
    return Parameter("data", Parameter.KEYWORD_ONLY, annotation=Annotated[str, f"a .jsonl or .parquet file: {text}"])


@dataclass(frozen=True)
class OnRows:
    """Makes the run of a method on rows that are read in one way."""

    read: data.Read
    arrange: Arrange | None = None
    fit: FitOf | None = None

    def __call__(self, method: Method, options: Options, further: Mapping[str, Any]) -> Run:
        named = further.get("tasks")
        heldout = further.get("heldout")
        if named and heldout:
            raise ValueError("tasks and heldout are both given; a run is evaluated on one of them: give one")
        if heldout is None:  # pairs are held out where nothing else is evaluated on
            heldout = "0.1" if self.read is data.preference and not named and "heldout" in further else "0"
        read, lengths = data.beside(self.read, method), (further["max_tokens"], further["on_long"])
        rows = Rows(further["data"], read, heldout, *lengths, self.arrange, self.fit)
        options = replace(options, tasks=named or "", steps=_steps(rows, options, further))
        tasks, rewards = task_set(options) if options.tasks else (None, ())
        ranks = self.read is data.preference or self.fit is not None or _share(heldout) is None
        return Run(method, options, tasks, rewards, source=rows, measure=rows.ranking if ranks and not tasks else None)


def _steps(rows: Rows, options: Options, further: Mapping[str, Any]) -> int:
    """The updates that `steps` or `passes` ask for; the default of `Options` where neither was given."""
    steps: int | None = further["steps"]
    passes: float | None = further["passes"]
    if passes is None:
        return options.steps if steps is None else steps
    if steps is not None:
        raise ValueError(f"steps ({steps}) and passes ({passes:g}) are both given; they are one budget: give one")
    if not passes > 0:
        raise ValueError(f"passes is {passes:g}; expected more than 0")
    return max(1, math.ceil(passes * rows.count() / options.prompts_per_step))
