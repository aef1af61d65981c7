"""Task sets by name, as the command line and recipes say it: `arithmetic?level=2`, `rg:chain_sum`, `rows.jsonl`.

A spec is a name and, after a question mark, options joined by '&': `key=value`. Values are read as JSON where they
are JSON (numbers, true, lists) and as text otherwise; %26 stands for '&' and %0A for a new line.

Every kind of set also takes
`template`  text with {prompt}, and any of the task's data, around a text prompt: `template=Compute {prompt}`
`system`    a system message; a text prompt becomes a user message after it
`reward`    another scorer for the set: a name or file that `load_reward` knows
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from string import Formatter
from typing import Any

from guerdon.names import nearest
from guerdon.rewards.load import load_reward
from guerdon.specs import split_spec
from guerdon.tasks.base import Tasks, TaskSet
from guerdon.tasks.builtin import STRINGS, arithmetic, strings
from guerdon.tasks.files import EXTENSIONS, FOLDER_MARKS
from guerdon.tasks.gym import gym_tasks
from guerdon.tasks.near import near
from guerdon.tasks.rows import file_tasks, hub_tasks
from guerdon.types import Task

COMMON = ("template", "system", "reward")
TEXT = ("template", "system", "reward", "prompt", "answer", "heldout")
"""Options that stay text whatever they look like, for every kind but reasoning-gym, whose `heldout` is a number."""


def load_tasks(spec: str, **options: Any) -> TaskSet:
    """The task set a spec names; keyword options override those in the spec, and None leaves one out.

    ValueError for an unknown name or option, with the nearest right one and what is accepted.
    """
    name, given = parse(spec)
    given |= {key: value for key, value in options.items() if value is not None}
    common = {key: given.pop(key) for key in COMMON if key in given}
    tasks = _load(name, given)
    if "reward" in common:
        tasks = replace(tasks, reward=load_reward(common["reward"]))
    template, system = common.get("template"), common.get("system")
    if template is None and system is None:
        return tasks
    framed = Framed(tasks.heldout, template, system)
    framed.task(0)  # a template that does not fit shows here, not in the middle of a run
    return replace(tasks, train=Framed(tasks.train, template, system), heldout=framed)


def list_tasks() -> dict[str, str]:
    """Names and patterns of task sets with what they are, for people to read."""
    listed = {"arithmetic": _first_line(arithmetic), "near": _first_line(near)}
    listed |= {name: f"Rework a word, such as '{name} abc=' answered '{STRINGS[name]('abc')}'." for name in STRINGS}
    return listed | {
        "rg:NAME": _first_line(gym_tasks),
        "FILE": _first_line(file_tasks),
        "hub:NAME[:CONFIG][:SPLIT]": _first_line(hub_tasks),
    }


def parse(spec: str) -> tuple[str, dict[str, Any]]:
    """A spec as its name and options. ValueError for an option without '=' or given twice."""
    name, texts = split_spec(spec, "task")
    return name, {key: text if _stays_text(key, name) else _value(text) for key, text in texts.items()}


def _stays_text(key: str, name: str) -> bool:
    return key in TEXT and not (key == "heldout" and name.startswith("rg:"))


@dataclass(frozen=True)
class Framed:
    """Tasks with a template around their text prompts and a system message before them."""

    tasks: Tasks
    template: str | None = None
    system: str | None = None

    def __post_init__(self) -> None:
        if self.template is not None and "prompt" not in _fields(self.template):
            raise ValueError(f"template {self.template!r} has no {{prompt}}; expected text with {{prompt}} in it")

    @property
    def size(self) -> int | None:
        return self.tasks.size

    def task(self, i: int, seed: int = 0) -> Task:
        task = self.tasks.task(i, seed)
        prompt = task.prompt if self.template is None else self._filled(task, self.template)
        return replace(task, prompt=prompt if self.system is None else _after_system(prompt, self.system, task.id))

    def _filled(self, task: Task, template: str) -> str:
        if not isinstance(task.prompt, str):
            raise ValueError(f"task {task.id}: a template needs a text prompt; found {type(task.prompt).__name__}")
        known = {**task.data, "prompt": task.prompt}
        for field in _fields(template):
            if field not in known:
                raise ValueError(f"template {template!r} names {field!r}, not in task {task.id}{nearest(field, known)}")
        return template.format_map(known)


def _load(name: str, options: dict[str, Any]) -> TaskSet:
    if name.startswith("rg:"):
        return gym_tasks(name.removeprefix("rg:"), **options)
    if name.startswith("hub:"):
        return _call(hub_tasks, name, name.removeprefix("hub:"), **options)
    if name == "arithmetic":
        return _call(arithmetic, name, **options)
    if name == "near":
        return _call(near, name, **options)
    if name in STRINGS:
        return _call(strings, name, name, **options)
    if any((Path(name) / mark).is_file() for mark in FOLDER_MARKS):
        return _call(hub_tasks, name, name, **options)
    if Path(name).suffix.lower() in EXTENSIONS or Path(name).exists() or "/" in name:
        return _call(file_tasks, name, name, **options)
    known = ["arithmetic", "near", *STRINGS]
    raise ValueError(f"there is no task set {name!r}{nearest(name, known)}, rg:NAME, hub:NAME or a file with rows")


def _call(make: Callable[..., TaskSet], name: str, /, *args: Any, **options: Any) -> TaskSet:
    accepted = list(inspect.signature(make).parameters)[len(args) :]
    for key in options:
        if key not in accepted:
            raise ValueError(f"tasks {name!r} have no option {key!r}{nearest(key, [*accepted, *COMMON])}")
    try:
        return make(*args, **options)
    except TypeError as error:
        shown = ", ".join(f"{key}={value!r}" for key, value in options.items())
        raise ValueError(f"tasks {name!r} cannot be made with {shown}: {error}") from error


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {"True": True, "False": False, "None": None}.get(text, text)


def _fields(template: str) -> list[str]:
    try:
        return [field for _, field, _, _ in Formatter().parse(template) if field is not None]
    except ValueError as error:
        raise ValueError(f"template {template!r}: {error}; write {{{{ and }}}} for plain braces") from error


def _after_system(prompt: Any, system: str, task_id: str) -> list[Mapping[str, Any]]:
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
    if messages[0].get("role") == "system":
        raise ValueError(f"task {task_id} has a system message already; leave out the option 'system'")
    return [{"role": "system", "content": system}, *messages]


def _first_line(function: Callable[..., Any]) -> str:
    return (inspect.getdoc(function) or "").splitlines()[0]
