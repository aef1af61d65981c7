"""Modules that load when they are first used: torch takes seconds, and neither planning a run nor listing needs it.

After `defer("torch")`, `import torch` stays where people look for it, at the top of a file, and costs nothing until an
attribute is read. `from torch import Tensor` reads one at once: the files that such commands pass through take names
like it for the type checker alone.
"""

from __future__ import annotations

import importlib.util
import sys
from threading import RLock
from types import ModuleType
from typing import Any


class _Deferred(ModuleType):
    """A module that was found but has not run. Importing a submodule runs it: that looks for `__path__`, which is kept
    back until then."""

    def __getattr__(self, name: str) -> Any:
        with _LOCK:
            if not self.__dict__.get("__deferred__"):  # by its own code as it runs, or after another thread ran it
                return ModuleType.__getattribute__(self, name)
            _run(self)
        return getattr(self, name)


_LOCK = RLock()
"""Other threads wait until a module is whole."""


def defer(name: str) -> None:
    """Let `import name` cost nothing until the module is used; no change where it is loaded or not installed."""
    spec = None if name in sys.modules else importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        return
    module = _Deferred(name)
    module.__dict__.update(vars(importlib.util.module_from_spec(spec)), __deferred__=True)
    module.__dict__.pop("__path__", None)
    sys.modules[name] = module


def _run(module: ModuleType) -> None:
    """Run a module's code in the object that others hold already. One that fails is forgotten, as Python does it."""
    spec = module.__spec__
    assert spec is not None
    assert spec.loader is not None
    del module.__dict__["__deferred__"]
    if spec.submodule_search_locations is not None:
        module.__path__ = spec.submodule_search_locations
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(spec.name, None)
        raise
    module.__class__ = ModuleType
