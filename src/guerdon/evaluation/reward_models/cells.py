"""The cells of a benchmark's row, checked. BadRow names file, row and column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from guerdon.data.row import Text
from guerdon.tasks.files import BadRow, Numbered


@dataclass(frozen=True)
class Cells:
    """One stored row of a file."""

    one: Numbered
    where: str

    def __post_init__(self) -> None:
        if self.one.fault is not None:
            raise self.one.fault

    def text(self, column: str) -> str:
        value = self._some(column)
        return value if isinstance(value, str) else self.bad(column, value, "text")

    def asked(self, column: str) -> Text:
        """A prompt: text, or a list of messages."""
        value = self._some(column)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, list) and value and all(isinstance(one, Mapping) and "role" in one for one in value):
            return value
        return self.bad(column, value, "text, or a list of messages")

    def texts(self, column: str, least: int = 1) -> tuple[str, ...]:
        value = self._some(column)
        if not isinstance(value, list) or len(value) < least or not all(isinstance(one, str) for one in value):
            self.bad(column, value, f"a list of at least {least} texts")
        return tuple(value)

    def number(self, column: str, low: int, high: int) -> int:
        """A whole number from low to high."""
        value = self._some(column)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.bad(column, value, f"a whole number, {low} to {high}")
        return int(value)

    def numbers(self, column: str, low: int, high: int) -> tuple[int, ...]:
        value = self._some(column)
        whole = isinstance(value, list) and all(isinstance(one, int) and low <= one <= high for one in value)
        return tuple(value) if whole else self.bad(column, value, f"a list of whole numbers, {low} to {high}")

    def truths(self, column: str, n: int) -> tuple[bool, ...]:
        value = self._some(column)
        fits = isinstance(value, list) and len(value) == n and all(isinstance(one, bool) for one in value)
        return tuple(value) if fits else self.bad(column, value, f"a list of {n} times true or false")

    def name(self, column: str) -> str:
        """A label, as text whatever it is stored as."""
        return str(self._some(column))

    def rest(self, *read: str) -> dict[str, Any]:
        """The columns that are not read."""
        return {name: value for name, value in self.one.row.items() if name not in read}

    def bad(self, column: str, value: Any, expected: str) -> NoReturn:
        shown = repr(value)
        shown = shown if len(shown) < 60 else f"{shown[:57]}..."
        raise BadRow(self.where, self.one.number, f"the column {column!r} is {shown}", expected)

    def _some(self, column: str) -> Any:
        value = self.one.row.get(column)
        if value is None:
            found = sorted(self.one.row)
            raise BadRow(self.where, self.one.number, f"no value under {column!r}, it has {found}", f"{column!r}")
        return value


def cells(stored: Sequence[Numbered], where: str) -> list[Cells]:
    return [Cells(one, where) for one in stored]
