"""Which methods there are, read from the text of their files: to run one, or to list all, takes no import of all."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from guerdon import methods
from guerdon.method import Card


@dataclass(frozen=True)
class Entry:
    """A file of `methods/`. module: to import. constructors: names of the functions that make its `Method` from
    settings alone, in the order of the file: public, at the top level, `-> Method`, and taking none."""

    module: str
    card: Card
    constructors: tuple[str, ...]


@cache
def catalog() -> tuple[Entry, ...]:
    """The files that hold a method, by name. ValueError for a `CARD` that cannot be read without running its file."""
    files = sorted(file for place in methods.__path__ for file in Path(place).glob("*.py"))
    found = [(file, ast.parse(file.read_text(encoding="utf-8"), str(file))) for file in files]
    return tuple(
        Entry(f"{methods.__name__}.{file.stem}", card, _constructors(tree))
        for file, tree in found
        if (card := _card(tree, file)) is not None
    )


def _card(tree: ast.Module, file: Path) -> Card | None:
    """What `CARD = Card(...)` says; None where there is none."""
    values = [node.value for node in tree.body if isinstance(node, ast.Assign) and _names(node) == ["CARD"]]
    if not values:
        return None
    given = values[0].keywords if isinstance(values[0], ast.Call) and not values[0].args else []
    texts = {one.arg: one.value.value for one in given if isinstance(one.value, ast.Constant)}
    if not given or len(texts) < len(given):
        raise ValueError(f"{file}: CARD is read without running the file; expected Card(name='text', ...), plain texts")
    return Card(**texts)  # type: ignore[arg-type]


def _names(node: ast.Assign) -> list[str]:
    return [target.id for target in node.targets if isinstance(target, ast.Name)]


def _constructors(tree: ast.Module) -> tuple[str, ...]:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    return tuple(node.name for node in functions if _is_method(node.returns) and not _takes_method(node.args))


def _takes_method(given: ast.arguments) -> bool:
    return any(_is_method(one.annotation) for one in (*given.posonlyargs, *given.args, *given.kwonlyargs))


def _is_method(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id == "Method"
