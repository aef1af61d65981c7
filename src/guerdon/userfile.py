"""A user's own function by place, `path/to/file.py:function`: a recipe, a reward."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from zlib import crc32

from guerdon.names import nearest


def load_function(place: str) -> Callable[..., Any]:
    """The callable that a place names. FileNotFoundError for a missing file, ValueError for what is wrong with it."""
    path, _, name = place.rpartition(":")
    if not path.endswith(".py") or not name:
        raise ValueError(f"{place!r} names no function of a file; expected path/to/file.py:function")
    module = _module(Path(path).expanduser())
    found = getattr(module, name, None)
    if callable(found):
        return found  # type: ignore[no-any-return]
    if hasattr(module, name):
        raise ValueError(f"{place}: {found!r} is no function")
    known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
    raise ValueError(f"{path} has no function {name!r}{nearest(name, known)}")


def _module(path: Path) -> ModuleType:
    """The file as a module; what lies beside it can be imported by it, and its objects can be pickled."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist (looked in {Path.cwd()})")
    name = f"guerdon_user_{path.stem}_{crc32(str(path.resolve()).encode()):x}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look the module up by name
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)  # for the modules beside it, as Python does for a script
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        del sys.modules[name]
        raise ValueError(f"{path}, line {error.lineno}: {error.msg}") from error
    except Exception as error:
        del sys.modules[name]
        raise ValueError(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    return module
