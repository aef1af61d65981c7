"""Rewards that users write as plain Python functions.

The name of a parameter, wherever it stands, decides what a function is given:

`completions`   the replies of a group, list[str]; returns one number or None for each of them
`completion`    one reply, str; returns a number or None
`episode`       one `Episode`; returns a number, None or a `Score`
`group`         the group, list[Episode]; returns one number, None or `Score` for each episode

Functions of completions get columns by keyword, as far as they name them or take **columns: `prompts`, `answer` and
every other key of the tasks' data. Columns are lists, one entry per completion, for `completions`, and single values
for `completion` (where the prompt is called `prompt`). None means 'does not apply', which is not zero.

`group` and `episode` functions get the rollout's `context` when they name it.

Functions may be sync or async, instances with `__call__`, or partials. A sync function of a file runs in a pool of
worker processes (`guerdon.pool`), one group or completion at a time in each: one that hangs is killed, one that takes
its process down is survived, and module-level state is each worker's own. Where that does not do (a model in memory, a
cache), `in_process` keeps it in the run's process, in a thread that has a time limit but cannot be killed. Async
functions stay in the run's event loop; one that blocks (`time.sleep` instead of `await asyncio.sleep`) blocks the run.

A completion for which a function raises, hangs, dies or gives no finite number gets no score, and a verdict that says
why. Where a function of a whole group fails, it is asked once more for every completion alone, so that one completion
does not cost its group the score.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import math
import numbers
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from guerdon.rewards.calling import TIMEOUT, Caller, CallFailed, Foreign, caller
from guerdon.rewards.fault import RewardFault
from guerdon.types import Score, Verdict
from guerdon.userfile import load_function

if TYPE_CHECKING:
    from guerdon.rollouts.base import Context
    from guerdon.types import Episode, Group

Style = Literal["completions", "completion", "episode", "group"]
STYLES: tuple[Style, ...] = ("completions", "completion", "episode", "group")


def user_reward(place: str, timeout: float = TIMEOUT, weight: float = 1.0) -> UserReward:
    """A reward from a user's file, 'path/to/file.py:function'. timeout: seconds per call of the function.

    ValueError for a missing or broken file, a missing or unfit function.
    """
    function = load_function(place)
    return UserReward(place.rpartition(":")[2], caller(function, timeout, place), style_of(function, place), weight)


def wrap_reward(
    function: Callable[..., Any], name: str | None = None, timeout: float = TIMEOUT, weight: float = 1.0
) -> UserReward:
    """A reward from a function at hand; see the top of this file for what it may look like."""
    name = name or _name_of(function)
    return UserReward(name, caller(function, timeout), style_of(function, name), weight)


@dataclass(frozen=True)
class UserReward:
    """A user's function as a reward. RewardFault for the group when it breaks its contract with the whole of it: a
    wrong number of values, a column that is not there."""

    name: str
    call: Caller
    style: Style
    weight: float = 1.0

    @property
    def needs_context(self) -> bool:
        """Whether it can only be asked while a run goes on."""
        return "context" in inspect.signature(self.call.function).parameters

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        if self.style == "group":
            return await self._whole(group, group, context=context)
        if self.style == "completions":
            return await self._together(group)
        if self.call.parallel:
            return list(await asyncio.gather(*(self._one(episode, context) for episode in group)))
        return [await self._one(episode, context) for episode in group]

    async def _whole(self, group: Group, what: Any, **columns: Any) -> list[Score]:
        """Scores of one call for the whole group."""
        task_id = group[0].task.id
        try:
            returned = await self.call(self.style, what, self._given(task_id, **columns))
        except CallFailed as failure:
            raise RewardFault(self.name, task_id, failure.why, "a value, or None where it does not apply") from failure
        return _checked(self.name, returned, group)

    async def _together(self, group: Group) -> list[Score]:
        """Scores of one call for all completions; where that fails, of a call for each of them."""
        prompts, replies = [episode.task.prompt for episode in group], [episode.reply for episode in group]
        columns = self._given(group[0].task.id, prompts=prompts, **_columns(group))
        try:
            returned = await self.call(self.style, replies, columns)
        except CallFailed as failure:
            if len(group) == 1:
                return [_failed(failure)]
            return [score for episode in group for score in await self._together([episode])]
        return _checked(self.name, returned, group)

    async def _one(self, episode: Episode, context: Context) -> Score:
        task = episode.task
        own = {"context": context} if self.style == "episode" else {"prompt": task.prompt, **task.data}
        what = episode if self.style == "episode" else episode.reply
        try:
            return _score(await self.call(self.style, what, self._given(task.id, **own)), episode, 0)
        except CallFailed as failure:
            return _failed(failure)

    def _given(self, task_id: str, /, **columns: Any) -> dict[str, Any]:
        """The columns that the function names or, with **columns, all of them. RewardFault where one is missing."""
        others = [one for one in inspect.signature(self.call.function).parameters.values() if one.name != self.style]
        named = [parameter for parameter in others if parameter.kind not in _VARIADIC]
        missing = [one.name for one in named if one.default is one.empty and one.name not in columns]
        if missing:
            found = f"it asks for {missing}, but the task's columns are {sorted(columns)}"
            raise RewardFault(self.name, task_id, found, "parameters named like columns, or with a default")
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in others):
            return {key: value for key, value in columns.items() if key != self.style}
        return {one.name: columns[one.name] for one in named if one.name in columns}


def _failed(failure: CallFailed) -> Score:
    return Score(verdict=Verdict(failure.status, failure.why, stage="call"))


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
    if (
        isinstance(returned, str | bytes | Mapping | Set | Score)
        or not hasattr(returned, "__len__")
        or _is_scalar(returned)
    ):
        raise RewardFault(name, task_id, f"it returned {_shown(returned)}", expected)
    if len(returned) != len(group):
        raise RewardFault(name, task_id, f"it returned {len(returned)} values: {_shown(returned)}", expected)
    return [_score(value, episode, i) for i, (value, episode) in enumerate(zip(returned, group, strict=True))]


def _score(value: Any, episode: Episode, i: int) -> Score:
    """The value as a score; one that is no finite number is no score, and the verdict says so."""
    if value is None or isinstance(value, Score):
        return value or Score()
    number = value.item() if _is_scalar(value) else value
    if isinstance(number, numbers.Real) and math.isfinite(number):
        return Score(float(number))
    kind = value.kind if isinstance(value, Foreign) else type(value).__name__
    found = f"value {i} is {_shown(value)} ({kind}); expected a finite number, or None where it does not apply"
    return Score(verdict=Verdict("failed", found, stage="value"))


def _is_scalar(value: Any) -> bool:
    """Whether this is a 0-dimensional array or tensor of numpy or torch."""
    return hasattr(value, "item") and getattr(value, "ndim", None) == 0


def _columns(group: Group) -> dict[str, list[Any]]:
    keys = {key: None for episode in group for key in episode.task.data}
    return {key: [episode.task.data.get(key) for episode in group] for key in keys}


def _name_of(function: Callable[..., Any]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _shown(value: Any, most: int = 200) -> str:
    text = repr(value)
    return text if len(text) <= most else text[:most] + "..."
