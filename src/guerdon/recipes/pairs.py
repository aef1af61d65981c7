"""Recipes of preference methods that learn from more than pairs: the pair's group, opinions on it, fresh samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

from guerdon.data.layouts import PREFERENCES
from guerdon.data.row import Row
from guerdon.data.table import stored, table_of, usable
from guerdon.method import Method
from guerdon.methods.drpo import ByReward, drpo
from guerdon.methods.group_robust_po import by_group
from guerdon.methods.vrpo import with_synthetic
from guerdon.recipes import data
from guerdon.recipes.compose import compose
from guerdon.recipes.offline import HELDOUT_FILE, LENGTH, PASSES, TASKS, WITHOUT_STEPS, OnRows
from guerdon.recipes.parts import task_set
from guerdon.run import Options, Run
from guerdon.sources import Rollouts
from guerdon.tasks.base import Listed, Shuffled
from guerdon.types import Episode, Group, Task

if TYPE_CHECKING:
    from guerdon.chat import Chat
    from guerdon.parts import Parts

ROWS = "a .jsonl or .parquet file: rows with prompt, chosen, rejected"


def _file(text: str) -> Parameter:
    return Parameter("data", Parameter.KEYWORD_ONLY, annotation=Annotated[str, f"{ROWS}{text}"])


# --- pairs of several groups of people -------------------------------------------------------------------------------


def grouped(constructor: Callable[..., Method], module: ModuleType) -> Callable[..., Run]:
    """The recipe of a method on pairs that say which group they come from."""

    def build(method: Method, options: Options, further: Mapping[str, Any]) -> Run:
        return OnRows(with_columns, Grouped(method.settings["groups"]))(method, options, further)

    further = (_file(" and group"), TASKS, HELDOUT_FILE, *PASSES, *LENGTH)
    return compose(constructor, module, build, further, without=WITHOUT_STEPS)


@dataclass(frozen=True)
class Grouped:
    """Marks every pair with its group and with that group's share of what is learned."""

    groups: int

    def __call__(self, rows: Sequence[Group], seed: int) -> list[Group]:
        return by_group(rows, self.groups)


def _with_columns(row: Row, chat: Chat, name: str) -> Group:
    pair = data.preference.make(row, chat, name)
    return [replace(one, task=replace(one.task, data=row.data)) for one in pair]


with_columns = data.Read(PREFERENCES, _with_columns)
"""Pairs whose tasks hold the row's other columns."""


# --- pairs with opinions ---------------------------------------------------------------------------------------------


def opinions(constructor: Callable[..., Method], module: ModuleType) -> Callable[..., Run]:
    """The recipe of a method on labelled pairs with synthetic ones, both judged by a preference model."""

    def build(method: Method, options: Options, further: Mapping[str, Any]) -> Run:
        read = data.Read(PREFERENCES, Opinions(judged=not method.settings["refresh"]))
        return OnRows(read)(method, options, further)

    further = (_file(", a_1, a_2, g_obs, g_syn"), TASKS, HELDOUT_FILE, *PASSES, *LENGTH)
    return compose(constructor, module, build, further, without=WITHOUT_STEPS)


@dataclass(frozen=True)
class Opinions:
    """Reads a_1 and a_2, replies of the reference to the same prompt (each a text, messages, or a list of texts).

    g_obs is the probability that chosen beats rejected, g_syn that a_1 beats a_2: a number, or as many as replies.
    judged: the probabilities are needed. A row without a_1 and a_2 is a labelled pair alone.
    """

    judged: bool = True

    def __call__(self, row: Row, chat: Chat, name: str) -> Group:
        pair = _with_columns(row, chat, name)
        firsts, seconds = _replies(row.data, "a_1"), _replies(row.data, "a_2")
        if len(firsts) != len(seconds):
            raise ValueError(f"a_1 has {len(firsts)} replies and a_2 {len(seconds)}; expected as many")
        if not firsts:
            return pair
        chances = self._chances(row.data, "g_syn", len(firsts))
        synthetic = [
            (*_episodes(row, first, second, chat, name), chance)
            for first, second, chance in zip(firsts, seconds, chances, strict=True)
        ]
        return with_synthetic(pair, self._chances(row.data, "g_obs", 1)[0], synthetic)

    def _chances(self, columns: Mapping[str, Any], name: str, count: int) -> list[float]:
        if not self.judged:
            return [0.5] * count
        given = columns.get(name)
        found = given if isinstance(given, list) else [given]
        chances = [float(g) for g in found if isinstance(g, int | float) and not isinstance(g, bool)]
        if len(chances) != count or len(found) != count:
            raise ValueError(
                f"{name} is {given!r}; expected {count} probabilities from 0 to 1, or --refresh: then the policy's own"
                " snapshot judges"
            )
        return chances


def _replies(columns: Mapping[str, Any], name: str) -> list[Any]:
    """The replies of a column: one, several, or none where the row has none."""
    found = columns.get(name)
    if found is None:
        return []
    several = isinstance(found, list) and all(isinstance(one, str | list) for one in found)
    return found if several else [found]


def _episodes(row: Row, first: Any, second: Any, chat: Chat, name: str) -> tuple[Episode, Episode]:
    a, b = _with_columns(replace(row, chosen=first, rejected=second), chat, name)
    return a, b


# --- pairs and fresh samples -----------------------------------------------------------------------------------------

SCALE = Parameter(
    "preference_scale",
    Parameter.KEYWORD_ONLY,
    default=1.0,
    annotation=Annotated[float, "reward that is worth odds of e to 1 against the other reply"],
)


def beside_samples(constructor: Callable[..., Method], module: ModuleType) -> Callable[..., Run]:
    """The recipe of DRPO: labelled pairs, and samples for their prompts. The reward judges, as a Bradley-Terry model;
    without one all rests on the reference."""

    def build(method: Method, options: Options, further: Mapping[str, Any]) -> Run:
        options = replace(options, tasks=further["tasks"] or "")
        tasks = task_set(options)[0] if options.tasks else None
        if options.reward:
            settings = {**method.settings, "prefer": ByReward(_reward(options), further["preference_scale"])}
            method = drpo(**settings)
        return Run(method, options, tasks, source=Beside(further["data"]))

    further = (_file(""), TASKS, SCALE)
    return compose(constructor, module, build, further=further, without=("tasks", "max_lag"))


def _reward(options: Options) -> Any:
    from guerdon.rewards.load import Grading, load_rewards

    grading = Grading(options.reward_timeout, options.worth, options.unsafe_local_code)
    found = load_rewards(options.reward or "", grading)
    if len(found) != 1:
        raise ValueError(f"reward names {len(found)} rewards ({options.reward}); expected the one that judges pairs")
    return found[0]


@dataclass(frozen=True)
class Beside:
    """Makes the source: rollouts on the prompts of a file, with the pair of the row in each group."""

    file: str

    def __call__(self, parts: Parts) -> Rollouts:
        run, o = parts.run, parts.run.options
        return Rollouts(
            tasks=Shuffled(Listed(pair_tasks(self.file)), o.seed).draw,
            samplers=parts.samplers,
            chat=parts.chat,
            how=parts.how,
            rewards=run.method.rewards,
            batch=o.prompts_per_step,
            n=o.samples_per_prompt,
            rollout=run.method.rollout,
            seed=o.seed,
        )


def pair_tasks(file: str) -> list[Task]:
    """The prompts of `file[?option=value&...]`, a file of pairs, with `chosen` and `rejected` in their data."""
    name, options, columns = data.read_options(file)
    path = Path(name).expanduser()
    table = table_of(stored(name, options.get("rows")), str(path), PREFERENCES, columns, options.get("layout"))
    return [_task(row, f"{path.name}/{row.number}") for row in usable(table, options.get("on_bad_rows", "error"))]


def _task(row: Row, name: str) -> Task:
    prompt, chosen, rejected = row.prompt, row.chosen, row.rejected
    if prompt is None:  # whole conversations, which part in their last reply
        assert isinstance(chosen, list)
        assert isinstance(rejected, list)
        prompt, chosen, rejected = chosen[:-1], chosen[-1:], rejected[-1:]
    return Task(name, prompt, {**row.data, "chosen": chosen, "rejected": rejected})
