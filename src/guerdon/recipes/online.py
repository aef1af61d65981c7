"""Recipes of methods that learn from rollouts: tasks, a reward, a policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import Parameter
from types import ModuleType
from typing import Annotated, Any

from guerdon.method import Method
from guerdon.methods import tis
from guerdon.recipes.compose import compose
from guerdon.recipes.parts import task_set
from guerdon.run import Options, Run

TIS_CAP = Parameter(
    "tis_cap",
    Parameter.KEYWORD_ONLY,
    default=0.0,
    annotation=Annotated[float, "truncated importance sampling: weigh by trainer / sampler up to this cap; 0 is off"],
)


def online(constructor: Callable[..., Method], module: ModuleType) -> Callable[..., Run]:
    """The recipe of a method on rollouts. Every one takes `tis_cap`, but the file of that correction itself."""
    return compose(constructor, module, _build, further=() if module is tis else (TIS_CAP,))


def unrewarded(constructor: Callable[..., Method], module: ModuleType) -> Callable[..., Run]:
    """The recipe of a method whose rollout says what is better: the tasks' reward is watched, and evaluates."""

    def build(method: Method, options: Options, further: Mapping[str, Any]) -> Run:
        tasks, rewards = task_set(options)
        watched: tuple[Any, ...] = rewards
        return Run(method, options, tasks, rewards=tuple(replace(reward, weight=0.0) for reward in watched))

    return compose(constructor, module, build)


def _build(method: Method, options: Options, further: Mapping[str, Any]) -> Run:
    tasks, rewards = task_set(options)
    if further.get("tis_cap"):
        method = tis.truncated_importance(method, further["tis_cap"])
    return Run(method, options, tasks, rewards=rewards)
