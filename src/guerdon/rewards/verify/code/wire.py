"""Plain values as JSON, so that types survive and nothing that a program defines comes along.

Stand-alone: it is used on both sides of the sandbox, and is put into it as a file. None, booleans, integers, floats,
text and lists are themselves; everything else is an object with one key that names the type. Values of subclasses are
written as the plain value they hold, so a class whose `__eq__` lies has no say. Trees made by `encode` are compared
with `same` as they are: no set or dict is built from what a program wrote, as its keys could be chosen to collide.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

Tree = Any
"""What `encode` returns: JSON data."""

_SMALL = 2**63
_DEEPEST = 200


def encode(value: Any, other: Callable[[Any], Tree] | None = None, depth: int = 0) -> Tree:
    """The value as JSON data. other: what to write for objects that are not plain; by default their type and repr.

    ValueError for values nested deeper than 200.
    """
    if depth > _DEEPEST:
        raise ValueError(f"the value is nested deeper than {_DEEPEST}")
    if value is None or value is True or value is False:
        return value
    if isinstance(value, int):
        number = int.__add__(value, 0)
        return number if -_SMALL < number < _SMALL else {"int": hex(number)}
    if isinstance(value, float):
        return float.__add__(value, 0.0)
    if isinstance(value, str):
        return str.__str__(value)
    inner = [encode(item, other, depth + 1) for item in _items(value)]
    for kind, name in _NAMES:
        if isinstance(value, kind):
            return inner if name == "list" else {name: inner}
    if isinstance(value, bytes | bytearray):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    return other(value) if other else {"other": type(value).__name__, "text": repr(value)[:200]}


_NAMES = ((list, "list"), (tuple, "tuple"), (set, "set"), (frozenset, "frozenset"), (dict, "dict"))


def _items(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [[key, item] for key, item in dict.items(value)]
    return list(value) if isinstance(value, list | tuple | set | frozenset) else []


def decode(tree: Tree, other: Callable[[Any], Any] | None = None) -> Any:
    """The value of a tree. For use inside the sandbox. ValueError for what `encode` does not write."""
    if isinstance(tree, list):
        return [decode(item, other) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if "tuple" in tree:
        return tuple(decode(tree["tuple"], other))
    if "set" in tree:
        return set(decode(tree["set"], other))
    if "frozenset" in tree:
        return frozenset(decode(tree["frozenset"], other))
    if "dict" in tree:
        return dict(decode(tree["dict"], other))
    if "int" in tree:
        return int(tree["int"], 16)
    if "bytes" in tree:
        return bytes.fromhex(tree["bytes"])
    if "complex" in tree:
        return complex(*tree["complex"])
    if other is None:
        raise ValueError(f"unknown kind of value {sorted(tree)}")
    return other(tree)


def same(got: Tree, wanted: Tree, tolerance: float | None = None, loose: bool = False) -> bool:
    """Whether two trees are equal as Python compares plain values (1 == 1.0 == True), NaN being equal to NaN.

    tolerance: relative and absolute difference that numbers may have (not in sets, nor as keys of dicts). loose: JSON
    wrote `wanted`, which knows neither tuples nor keys that are no text: a tuple equals the list of its items, and a
    key the text of it. ValueError, TypeError, KeyError or RecursionError for trees that `encode` did not write.
    """
    if isinstance(wanted, list) and (isinstance(got, list) or (loose and _kind(got) == "tuple")):
        items = got if isinstance(got, list) else got["tuple"]
        return len(items) == len(wanted) and all(map(lambda a, b: same(a, b, tolerance, loose), items, wanted))
    kind = _kind(wanted)
    if kind in _SETS and _kind(got) in _SETS:
        return _set_key(got) == _set_key(wanted)
    if kind in ("", "int"):
        return _same_scalar(got, wanted, tolerance)
    if kind != _kind(got) or kind == "other":
        return False
    if kind == "tuple":
        return same(got["tuple"], wanted["tuple"], tolerance, loose)
    if kind == "dict":
        return _same_dict(got["dict"], wanted["dict"], tolerance, loose)
    return bool(got[kind] == wanted[kind])


def _same_dict(got: Tree, wanted: Tree, tolerance: float | None, loose: bool) -> bool:
    loose_keys = loose and all(isinstance(key, str) for key, _ in wanted)
    name = _loose_key if loose_keys else _key
    mine, theirs = ({name(key): value for key, value in pairs} for pairs in (got, wanted))
    return mine.keys() == theirs.keys() and all(same(mine[key], theirs[key], tolerance, loose) for key in theirs)


def _same_scalar(got: Tree, wanted: Tree, tolerance: float | None) -> bool:
    a, b = _number(got), _number(wanted)
    if a is None or b is None:
        return a is b and type(got) is type(wanted) and bool(got == wanted)
    if a == b or (a != a and b != b):
        return True
    if tolerance is None:
        return False
    try:
        return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)
    except OverflowError:  # an integer beyond every float
        return False


def _number(tree: Tree) -> int | float | None:
    if isinstance(tree, bool | int | float):
        return tree
    return int(tree["int"], 16) if _kind(tree) == "int" else None


def _kind(tree: Tree) -> str:
    """The type that an object names; '' for what is itself."""
    return str(next(iter(tree))) if isinstance(tree, dict) and tree else ""


def _key(tree: Tree) -> str:
    """A text that equal keys share: numbers by value, everything else as it is written."""
    number = _number(tree)
    if number is not None:
        return f"#{int(number) if number == number and abs(number) != math.inf and number == int(number) else number}"
    if isinstance(tree, dict) and "tuple" in tree:
        return "(" + ",".join(map(_key, tree["tuple"])) + ")"
    return _set_key(tree) if _kind(tree) in _SETS else json.dumps(tree)


def _set_key(tree: Tree) -> str:
    return "{" + ",".join(sorted(map(_key, tree[_kind(tree)]))) + "}"


_SETS = ("set", "frozenset")


def _loose_key(tree: Tree) -> str:
    return tree if isinstance(tree, str) else str(tree)


def shown(tree: Tree, most: int = 80) -> str:
    """The value of a tree in Python's spelling, shortened, for people to read."""
    text = _spelled(tree, 6)
    return text if len(text) <= most else text[: most - 3] + "..."


def _spelled(tree: Tree, depth: int) -> str:
    if depth == 0:
        return "..."
    if isinstance(tree, list):
        return "[" + ", ".join(_spelled(item, depth - 1) for item in tree[:30]) + "]"
    kind = _kind(tree)
    if kind == "tuple":
        return "(" + ", ".join(_spelled(item, depth - 1) for item in tree["tuple"][:30]) + ",)"
    if kind in _SETS:
        return "{" + ", ".join(_spelled(item, depth - 1) for item in tree[kind][:30]) + "}"
    if kind == "dict":
        pairs = (f"{_spelled(key, depth - 1)}: {_spelled(value, depth - 1)}" for key, value in tree["dict"][:30])
        return "{" + ", ".join(pairs) + "}"
    if kind == "other":
        return f"an object of type {tree['other']}"
    return str(tree[kind])[:100] if kind else repr(tree[:100] if isinstance(tree, str) else tree)
