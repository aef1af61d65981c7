"""The glossary names what the code names."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from guerdon import method, types

TEXT = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text()
ENTRIES = [
    line for line, after in zip(TEXT.splitlines(), TEXT.splitlines()[1:], strict=False) if after.startswith(":  ")
]


def nouns() -> list[str]:
    found = [
        name
        for module in (types, method)
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__ and not name.startswith("_")
    ]
    return sorted(found)


@pytest.mark.parametrize("noun", nouns())
def test_every_class_of_the_core_has_an_entry(noun: str) -> None:
    assert noun in ENTRIES


def test_no_word_is_explained_twice() -> None:
    assert len(ENTRIES) == len(set(ENTRIES))
    assert len(ENTRIES) > 40
