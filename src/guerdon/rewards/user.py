"""Rewards that users write as plain Python functions, and the reward names that ship with the library.

The name of a parameter, wherever it stands, decides what a function is given:

`completions`   the replies of a group, list[str]; returns one number or None for each of them
`completion`    one reply, str; returns a number or None
`episode`       one `Episode`; returns a number, None or a `Score`
`group`         the group, list[Episode]; returns one number, None or `Score` for each episode

Functions of completions get columns by keyword, as far as they name them or take **columns: `prompts`, `answer` and
every other key of the tasks' data. Columns are lists, one entry per completion, for `completions`, and single values
for `completion` (where the prompt is called `prompt`). None means 'does not apply', which is not zero.

`group` and `episode` functions get the rollout's `context` when they name it.

Functions may be sync or async, instances with `__call__`, or partials. Sync ones run in a thread with a time limit;
a thread cannot be killed, so one that hangs keeps running beside the program until it ends. An async function that
blocks (`time.sleep` instead of `await asyncio.sleep`) blocks the whole run.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import math
import numbers
import traceback
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from guerdon.names import nearest
from guerdon.rewards.bounded import bounded
from guerdon.rewards.fault import RewardFault
from guerdon.rewards.verify.number import NumericMatch
from guerdon.rewards.verify.text import ExactMatch
from guerdon.types import Score
from guerdon.userfile import load_function

if TYPE_CHECKING:
    from guerdon.rewards.base import Reward
    from guerdon.rollouts.base import Context
    from guerdon.types import Episode, Group

Style = Literal["completions", "completion", "episode", "group"]
STYLES: tuple[Style, ...] = ("completions", "completion", "episode", "group")

BUILTIN: Mapping[str, Callable[..., Reward]] = {"exact": ExactMatch, "numeric": NumericMatch}  # type: ignore[dict-item]

TIMEOUT = 10.0
"""Seconds a user's function may take for one call."""


def load_reward(spec: str, timeout: float = TIMEOUT, weight: float = 1.0) -> Reward:
    """A reward by name ('exact', 'numeric') or from a user's file ('path/to/file.py:function').

    timeout: seconds per call of the user's function. ValueError for an unknown name, a missing or broken file, a
    missing or unfit function.
    """
    if spec in BUILTIN:
        return BUILTIN[spec](weight=weight)
    path, _, name = spec.rpartition(":")
    if not path.endswith(".py"):
        raise ValueError(
            f"there is no reward {spec!r}{nearest(spec, BUILTIN)}; "
            "or name a function of a Python file as path/to/file.py:function"
        )
    function = load_function(spec)
    return UserReward(name, function, style_of(function, spec), timeout, weight)  # type: ignore[return-value]


def list_rewards() -> dict[str, str]:
    """Reward names that `load_reward` accepts beside files, with the first line of what they do."""
    return {name: (inspect.getdoc(make) or "").splitlines()[0] for name, make in BUILTIN.items()}


def wrap_reward(
    function: Callable[..., Any], name: str | None = None, timeout: float = TIMEOUT, weight: float = 1.0
) -> UserReward:
    """A reward from a function at hand; see the top of this file for what it may look like."""
    name = name or _name_of(function)
    return UserReward(name, function, style_of(function, name), timeout, weight)


async def dry_run(reward: Reward, group: Group, context: Context | None = None) -> list[Score]:
    """Score a group once before a run, holding any reward to the contract: one finite `Score` per episode.

    RewardFault when it breaks it. context: None suffices for user functions and the verifiers of `load_reward`.
    """
    scores = await reward(group, context)  # type: ignore[arg-type]
    return _checked(reward.name, scores, group)


@dataclass(frozen=True)
class UserReward:
    """A user's function as a reward. RewardFault when it raises, hangs, or returns anything but what it should."""

    name: str
    function: Callable[..., Any]
    style: Style
    timeout: float = TIMEOUT
    weight: float = 1.0

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        task_id = group[0].task.id
        if self.style == "group":
            return _checked(self.name, await self._call(task_id, group, **self._given(task_id, context=context)), group)
        if self.style == "completions":
            prompts = [episode.task.prompt for episode in group]
            columns = self._given(task_id, prompts=prompts, **_columns(group))
            returned = await self._call(task_id, [episode.reply for episode in group], **columns)
            return _checked(self.name, returned, group)
        if _is_async(self.function):
            values = await asyncio.gather(*(self._one(episode, context) for episode in group))
        else:
            values = [await self._one(episode, context) for episode in group]
        return _checked(self.name, values, group)

    async def _one(self, episode: Episode, context: Context) -> Any:
        task = episode.task
        if self.style == "episode":
            return await self._call(task.id, episode, **self._given(task.id, context=context))
        columns = self._given(task.id, **{"prompt": task.prompt, **task.data})
        return await self._call(task.id, episode.reply, **columns)

    async def _call(self, task_id: str, what: Any, **columns: Any) -> Any:
        parameter = inspect.signature(self.function).parameters[self.style]
        args = (what,) if parameter.kind is parameter.POSITIONAL_ONLY else ()
        given = columns if args else {self.style: what, **columns}
        try:
            if _is_async(self.function):
                return await asyncio.wait_for(self.function(*args, **given), self.timeout)
            result = await bounded(lambda: self.function(*args, **given), self.timeout)
            return await asyncio.wait_for(result, self.timeout) if inspect.isawaitable(result) else result
        except TimeoutError as error:
            expected = f"an answer within {self.timeout:g} s"
            raise RewardFault(self.name, task_id, f"no answer ({error or 'timed out'})", expected) from error
        except (Exception, SystemExit) as error:
            found = f"it raised {type(error).__name__}: {error} ({_place(error)})"
            raise RewardFault(self.name, task_id, found, "a value, or None where it does not apply") from error

    def _given(self, task_id: str, /, **columns: Any) -> dict[str, Any]:
        """The columns that the function names or, with **columns, all of them. RewardFault where one is missing."""
        others = [one for one in inspect.signature(self.function).parameters.values() if one.name != self.style]
        named = [parameter for parameter in others if parameter.kind not in _VARIADIC]
        missing = [one.name for one in named if one.default is one.empty and one.name not in columns]
        if missing:
            found = f"it asks for {missing}, but the task's columns are {sorted(columns)}"
            raise RewardFault(self.name, task_id, found, "parameters named like columns, or with a default")
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in others):
            return {key: value for key, value in columns.items() if key != self.style}
        return {one.name: columns[one.name] for one in named if one.name in columns}


def _place(error: BaseException) -> str:
    """File and line where it was raised."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}, line {last.lineno}"


_VARIADIC = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


def style_of(function: Callable[..., Any], where: str) -> Style:
    """What a function wants, by the first of its parameters with a name in `STYLES`. ValueError when it has none."""
    if not callable(function) or inspect.isclass(function):
        what = f"the class {function.__name__}" if inspect.isclass(function) else repr(function)
        raise ValueError(f"reward {where}: {what} is no function; expected a function or an instance with __call__")
    named = [one.name for one in inspect.signature(function).parameters.values() if one.kind not in _VARIADIC]
    for name in named:
        for style in STYLES:
            if name == style:
                return style
    found = f"its parameters are {', '.join(named)}" if named else "it takes no parameter"
    raise ValueError(f"reward {where}: {found}; expected one of {', '.join(STYLES)}, which says what it is given")


def _checked(name: str, returned: Any, group: Sequence[Episode]) -> list[Score]:
    task_id = group[0].task.id
    expected = f"a list of {len(group)} numbers or None, one per completion"
    if isinstance(returned, str | bytes | Mapping | Set) or not hasattr(returned, "__len__") or _is_scalar(returned):
        raise RewardFault(name, task_id, f"it returned {_shown(returned)}", expected)
    if len(returned) != len(group):
        raise RewardFault(name, task_id, f"it returned {len(returned)} values: {_shown(returned)}", expected)
    return [_score(name, value, episode, i) for i, (value, episode) in enumerate(zip(returned, group, strict=True))]


def _score(name: str, value: Any, episode: Episode, i: int) -> Score:
    if isinstance(value, Score):
        parts = [value.value, *value.spans.values(), *(x for array in value.tokens.values() for x in array)]
        if all(part is None or math.isfinite(part) for part in parts):
            return value
        raise RewardFault(name, episode.task.id, f"score {i} is not finite: {_shown(value)}", "finite numbers")
    if value is None:
        return Score()
    number = value.item() if _is_scalar(value) else value
    if isinstance(number, numbers.Real) and math.isfinite(number):
        return Score(float(number))
    found = f"value {i} is {_shown(value)} ({type(value).__name__})"
    raise RewardFault(name, episode.task.id, found, "a finite number, or None where it does not apply")


def _is_scalar(value: Any) -> bool:
    """Whether this is a 0-dimensional array or tensor of numpy or torch."""
    return hasattr(value, "item") and getattr(value, "ndim", None) == 0


def _columns(group: Group) -> dict[str, list[Any]]:
    keys = {key: None for episode in group for key in episode.task.data}
    return {key: [episode.task.data.get(key) for episode in group] for key in keys}


def _is_async(function: Callable[..., Any]) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _name_of(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _shown(value: Any, most: int = 200) -> str:
    text = repr(value)
    return text if len(text) <= most else text[:most] + "..."
