"""Ready runs. A recipe is a Python function that returns a `Run`; its keyword arguments are the command line.

Every constructor in `methods/` is a recipe of its own name, made from its signature and the run's options: `online`
for methods that roll out tasks, `offline` for those that learn from rows. Discovery is a folder scan for `CARD`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

from guerdon.method import Card, Method
from guerdon.names import nearest
from guerdon.recipes.catalog import Entry, catalog
from guerdon.run import Run
from guerdon.userfile import load_function

Recipe = Callable[..., Run]


def method_files() -> list[ModuleType]:
    """The modules in `methods/` that hold a method, by name."""
    return [importlib.import_module(entry.module) for entry in catalog()]


def constructors(module: ModuleType) -> list[Callable[..., Method]]:
    """Public functions of a method's file that make its `Method` from settings alone, in the order of the file."""
    return [
        getattr(module, name) for entry in catalog() if entry.module == module.__name__ for name in entry.constructors
    ]


_MAKERS = {
    "policy": "online:online",
    "supervised": "offline:demonstrations",
    "preference": "offline:preferences",
    "reward": "offline:rewards",
}
"""How a method's family gets its experience, by file and function here; families without an entry have none yet."""

_OWN = {
    "group-robust-po": "pairs:grouped",
    "vrpo": "pairs:opinions",
    "drpo": "pairs:beside_samples",
    "kto": "offline:labelled",
    "online-dpo": "online:online",
    "rlsf": "online:unrewarded",
}
"""Methods, by slug, that need another experience than their family."""


def _maker(card: Card) -> str | None:
    return _OWN.get(card.slug) or _MAKERS.get(card.family)


def recipe_names() -> list[str]:
    """Names of all recipes, in the order of the files. Imports none of them."""
    return [name for entry in catalog() if _maker(entry.card) for name in entry.constructors]


def rollout_recipes() -> list[str]:
    """Names of the recipes that learn from rollouts alone, and so need no rows. Imports none of them."""
    found = [entry for entry in catalog() if (_maker(entry.card) or "").startswith("online:")]
    return [name for entry in found for name in entry.constructors]


def recipes() -> dict[str, Recipe]:
    """All recipes by name."""
    return {name: recipe for entry in catalog() for name, recipe in _made(entry).items()}


def _made(entry: Entry) -> dict[str, Recipe]:
    """The recipes of one method's file, which alone is imported, with what makes recipes of its kind."""
    place = _maker(entry.card)
    if place is None:
        return {}
    file, _, function = place.partition(":")
    maker = getattr(importlib.import_module(f"{__name__}.{file}"), function)
    module = importlib.import_module(entry.module)
    return {name: maker(getattr(module, name), module) for name in entry.constructors}


def find_recipe(name: str) -> Recipe:
    """A recipe by its name ('dr-grpo' and 'dr_grpo' are one), or a user's own as 'path/to/file.py:function'."""
    if ":" in name or name.endswith(".py"):
        return load_function(name)
    plain = name.replace("-", "_")
    if plain not in recipe_names():
        raise ValueError(f"there is no recipe {name!r}{nearest(plain, recipe_names())}. See: guerdon methods")
    return next(_made(entry)[plain] for entry in catalog() if plain in entry.constructors)


def make_run(name: str, arguments: Mapping[str, Any]) -> Run:
    """The run that a recipe makes of these arguments, with both written into it, so that it can be made again."""
    run = find_recipe(name)(**arguments)
    if not isinstance(run, Run):
        raise TypeError(f"{name} returned {type(run).__name__}; expected a guerdon.run.Run")
    return replace(run, recipe=name, arguments=dict(arguments))
