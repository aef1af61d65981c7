"""Ready runs. A recipe is a Python function that returns a `Run`; its keyword arguments are the command line.

Every constructor in `methods/` is a recipe of its own name, made from its signature and the run's options: `online`
for methods that roll out tasks, `offline` for those that learn from rows. Discovery is a folder scan for `CARD`.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

from guerdon import methods
from guerdon.method import Card, Method
from guerdon.names import nearest
from guerdon.recipes.offline import demonstrations, labelled, preferences, rewards
from guerdon.recipes.online import online, unrewarded
from guerdon.recipes.pairs import beside_samples, grouped, opinions
from guerdon.run import Run
from guerdon.userfile import load_function

Recipe = Callable[..., Run]


def method_files() -> list[ModuleType]:
    """The modules in `methods/` that hold a method, by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(methods.__path__))
    found = [importlib.import_module(f"{methods.__name__}.{name}") for name in names]
    return [module for module in found if isinstance(getattr(module, "CARD", None), Card)]


def constructors(module: ModuleType) -> list[Callable[..., Method]]:
    """Public functions of a method's file that make its `Method` from settings alone, in the order of the file."""
    found = [f for name, f in vars(module).items() if inspect.isfunction(f) and not name.startswith("_")]
    return [f for f in found if f.__module__ == module.__name__ and _constructs(f)]


def _constructs(function: Callable[..., Any]) -> bool:
    signature = inspect.signature(function, eval_str=True)
    takes_method = any(parameter.annotation is Method for parameter in signature.parameters.values())
    return signature.return_annotation is Method and not takes_method


_MAKERS = {"policy": online, "supervised": demonstrations, "preference": preferences, "reward": rewards}
"""How a method's family gets its experience; families without an entry have recipes written by hand."""

_OWN = {
    "group-robust-po": grouped,
    "vrpo": opinions,
    "drpo": beside_samples,
    "kto": labelled,
    "online-dpo": online,
    "rlsf": unrewarded,
}
"""Methods, by slug, that need another experience than their family."""


def _maker(card: Card) -> Callable[[Callable[..., Method], ModuleType], Recipe] | None:
    return _OWN.get(card.slug) or _MAKERS.get(card.family)


def recipes() -> dict[str, Recipe]:
    """All recipes by name."""
    return {
        constructor.__name__: maker(constructor, module)
        for module in method_files()
        if (maker := _maker(module.CARD)) is not None
        for constructor in constructors(module)
    }


def find_recipe(name: str) -> Recipe:
    """A recipe by its name ('dr-grpo' and 'dr_grpo' are one), or a user's own as 'path/to/file.py:function'."""
    if ":" in name or name.endswith(".py"):
        return load_function(name)
    known = recipes()
    if name.replace("-", "_") not in known:
        raise ValueError(f"there is no recipe {name!r}{nearest(name.replace('-', '_'), known)}. See: guerdon methods")
    return known[name.replace("-", "_")]


def make_run(name: str, arguments: Mapping[str, Any]) -> Run:
    """The run that a recipe makes of these arguments, with both written into it, so that it can be made again."""
    run = find_recipe(name)(**arguments)
    if not isinstance(run, Run):
        raise TypeError(f"{name} returned {type(run).__name__}; expected a guerdon.run.Run")
    return replace(run, recipe=name, arguments=dict(arguments))
