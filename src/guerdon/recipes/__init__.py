"""Ready runs. A recipe is a Python function that returns a `Run`; its keyword arguments are the command line.

Every constructor in `methods/` is a recipe of its own name, made from its signature and the run's options: `online`
for methods that roll out tasks, `offline` for those that learn from rows. Discovery is a folder scan for `CARD`.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from guerdon import methods
from guerdon.method import Card, Method
from guerdon.names import nearest
from guerdon.recipes.offline import demonstrations, preferences
from guerdon.recipes.online import online
from guerdon.run import Run

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


_MAKERS = {"policy": online, "supervised": demonstrations, "preference": preferences}
"""How a method's family gets its experience; families without an entry have recipes written by hand."""


def recipes() -> dict[str, Recipe]:
    """All recipes by name."""
    return {
        constructor.__name__: _MAKERS[module.CARD.family](constructor, module)
        for module in method_files()
        if module.CARD.family in _MAKERS
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


def load_function(place: str) -> Callable[..., Any]:
    """A function of a user's file, given as 'path/to/file.py:function'."""
    path, _, name = place.rpartition(":")
    file = Path(path).expanduser()
    if not path or not name:
        raise ValueError(f"{place!r} names no function; expected path/to/file.py:function")
    if not file.is_file():
        raise FileNotFoundError(
            f"there is no file {path} (looked from {Path.cwd()}); expected path/to/file.py:function"
        )
    found = getattr(_module(file), name, None)
    if not callable(found):
        there = [key for key, value in vars(_module(file)).items() if inspect.isfunction(value)]
        raise ValueError(f"{path} has no function {name!r}{nearest(name, there)}")
    return found  # type: ignore[no-any-return]


def _module(file: Path) -> ModuleType:
    """A file as a module; what lies beside it can be imported by it, and its objects can be pickled."""
    name = f"guerdon_user_{file.stem}"
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(file.resolve()):
        return loaded
    spec = importlib.util.spec_from_file_location(name, file.resolve())
    if spec is None or spec.loader is None:
        raise ValueError(f"{file} is no Python file; expected path/to/file.py:function")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(file.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        sys.path.pop(0)
    return module
