"""A comparison as a value: the arms, what they share, and how much each may use."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.keys import Key, UsageError, keys_of
from guerdon.run import Options, Run
from guerdon.specs import split_spec
from guerdon.types import EMPTY

if TYPE_CHECKING:
    from guerdon.evaluation.protocol.base import Protocol
    from guerdon.rewards.base import Reward
    from guerdon.types import Task

PARITY = (
    "model",
    "tasks",
    "reward",
    "worth",
    "reward_timeout",
    "unsafe_local_code",
    "max_new_tokens",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "stop",
    "dtype",
    "device",
    "lora_rank",
    "end_token",
    "chat_template",
)
"""Options that are the same for every arm: what is learned, from which weights, how it is decoded and scored."""

OWN = ("steps", "seed", "eval_every", "eval_tasks", "save_every", "keep", "watch", "schedule")
"""Options that the comparison sets itself."""

SAVE_EVERY = 50


@dataclass(frozen=True)
class Arm:
    """A recipe with settings of its own, as in 'grpo?clip_high=0.28'."""

    spec: str
    recipe: str
    settings: Mapping[str, Any] = EMPTY

    @property
    def folder(self) -> str:
        return re.sub(r"[^\w.=,+-]+", "_", self.spec)

    @cached_property
    def code(self) -> str:
        """A fingerprint of the file that the recipe comes from: once that changes, what was measured is of another."""
        from guerdon.recipes import find_recipe

        module = inspect.getmodule(find_recipe(self.recipe)) or importlib.import_module(
            find_recipe(self.recipe).__module__
        )
        return hashlib.sha256(Path(str(module.__file__)).read_bytes()).hexdigest()[:16]


def read_arm(spec: str) -> Arm:
    """An arm from its words. UsageError for a setting that the recipe does not take, or that all arms share."""
    from guerdon.names import nearest
    from guerdon.recipes import find_recipe

    recipe, texts = split_spec(spec, "method")
    keys = keys_of(find_recipe(recipe))
    settings = {}
    for name, text in texts.items():
        name = name.replace("-", "_")
        if name in PARITY:
            raise UsageError(
                f"{spec}: {name} is the same for all arms; give it to all: --{name.replace('_', '-')} {text}"
            )
        if name in OWN:
            raise UsageError(f"{spec}: {name} is set by the comparison, whose arms stop at the budget; leave it out")
        if name not in keys:
            raise UsageError(f"{recipe} has no setting {name!r}{nearest(name, keys.keys() - {*PARITY, *OWN})}")
        settings[name] = keys[name].read(text)
    return Arm(spec, recipe, settings)


def shared_keys() -> dict[str, Key]:
    """Options that may be given to all arms, by name."""
    from guerdon.keys import key_of
    from guerdon.recipes.compose import option_parameters

    found = [key for parameter in option_parameters() if (key := key_of(parameter)) and key.name not in OWN]
    return {key.name: key for key in found}


@dataclass(frozen=True)
class Comparison:
    """budget: sampled tokens of each arm on each seed; an arm stops with the first step whose total reaches it.

    given: options for all arms. points: how often an arm is looked at on the way, at equal distances of tokens. items:
    held-out tasks, at most. decodes, on_the_way: of each item, at the end and before.
    """

    arms: tuple[Arm, ...]
    budget: int
    given: Mapping[str, Any] = EMPTY
    points: int = 8
    items: int = 100
    decodes: int = 32
    on_the_way: int = 8

    def __post_init__(self) -> None:
        for name in ("budget", "points", "items", "decodes", "on_the_way"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}; expected at least 1")
        if self.on_the_way > self.decodes:
            raise UsageError(f"on_the_way is {self.on_the_way} and decodes {self.decodes}; expected no more than that")
        folders = [arm.folder for arm in self.arms]
        twice = next((arm.spec for arm in self.arms if folders.count(arm.folder) > 1), None)
        if twice is not None:
            raise UsageError(f"{twice!r} is given twice; expected different arms")

    def as_dict(self) -> dict[str, Any]:
        """As plain data, with every shared option resolved."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**plain, "arms": [arm.spec for arm in self.arms], "given": dict(self.given), "shared": self.shared}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Comparison:
        """What `as_dict` gave."""
        given = {f.name: found[f.name] for f in fields(cls)}
        return cls(**{**given, "arms": tuple(map(read_arm, found["arms"]))})

    @property
    def shared(self) -> dict[str, Any]:
        """Every option that is the same for all arms, with its value."""
        defaults = {f.name: f.default for f in fields(Options)}
        return {name: self.given.get(name, defaults[name]) for name in PARITY}

    @property
    def options(self) -> Options:
        """What arms share, as options."""
        return Options(**{**self.given, "seed": 0})

    @property
    def marks(self) -> tuple[int, ...]:
        """Sampled tokens at which an arm is looked at; the last is the budget."""
        return tuple(round(self.budget * i / self.points) for i in range(1, self.points + 1))

    def run(self, arm: Arm, seed: int) -> Run:
        """The run of an arm on a seed. ValueError when it does not learn by parity with the others."""
        from guerdon.recipes import find_recipe, make_run

        keys = keys_of(find_recipe(arm.recipe))
        wanted = {**self.shared, **self.given}
        lacking = sorted(name for name in self.given if name not in keys)
        if "data" in keys:
            raise UsageError(f"{arm.spec} learns from rows and samples nothing, so a budget of tokens is none for it")
        if lacking:
            raise UsageError(f"{arm.recipe} does not take --{lacking[0].replace('_', '-')}, which all arms are given")
        arguments = {name: value for name, value in {**wanted, "seed": seed}.items() if name in keys}
        run = make_run(arm.recipe, {**arguments, **arm.settings})
        if run.source is not None or run.tasks is None:
            raise UsageError(f"{arm.spec} has a source of its own, so it does not get the tasks of the others")
        run = replace(run, options=replace(run.options, **self._own(seed)))
        self._check(arm, run)
        return run

    def _own(self, seed: int) -> dict[str, Any]:
        # A step samples at least a token, so the budget is also a bound on steps. Schedules would need their number.
        own = {
            "steps": self.budget,
            "seed": seed,
            "eval_every": 0,
            "eval_tasks": 0,
            "save_every": SAVE_EVERY,
            "keep": 1,
        }
        return {**own, "watch": None, "schedule": "constant"}

    def _check(self, arm: Arm, run: Run) -> None:
        for name, value in self.shared.items():
            found = getattr(run.options, name)
            if found != value:
                raise UsageError(f"{arm.spec} has {name} {found!r} and the others {value!r}; arms must share it")

    @cached_property
    def held(self) -> tuple[list[Task], Reward]:
        """(the tasks that are evaluated on, their scorer). ValueError when none are held out."""
        from guerdon.recipes.parts import task_set
        from guerdon.tasks.base import each

        tasks, _ = task_set(self.options)
        held = list(each(tasks.heldout, self.items))
        if not held:
            raise ValueError(f"{self.options.tasks} holds out no tasks, so there is nothing to compare on")
        return held, tasks.reward

    @cached_property
    def protocol(self) -> Protocol:
        """What all arms are evaluated under."""
        from guerdon.evaluation.protocol.base import protocol_of

        held, reward = self.held
        o = self.options
        return protocol_of(o.tasks, held, reward, o.sampling(()), self.decodes, chat_template=o.chat_template)
