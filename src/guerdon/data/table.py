"""A file or data set as typed rows: read, told apart from the bad ones, and counted."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from guerdon.data.layouts import ALL, Layout, find_layout
from guerdon.data.parts import typed
from guerdon.data.row import Row
from guerdon.tasks.files import FOLDER_MARKS, BadRow, Numbered, read_hub, read_rows, sliced
from guerdon.types import EMPTY

OnBadRows = Literal["error", "skip"]


@dataclass(frozen=True)
class Table:
    """Rows that can be used, and those that cannot, with the reason; total: all of them."""

    where: str
    layout: Layout
    rows: list[Row]
    bad: list[BadRow]

    @property
    def total(self) -> int:
        return len(self.rows) + len(self.bad)


def stored(name: str, rows: str | None = None) -> list[Numbered]:
    """The stored rows of a file, of `hub:name[:config][:split]`, or of the folder of a data set.

    rows: a part of them, 'first:last'.
    """
    saved = any((Path(name) / mark).is_file() for mark in FOLDER_MARKS)
    hub = name.startswith("hub:") or saved
    found = read_hub(name.removeprefix("hub:"), None) if hub else read_rows(Path(name).expanduser())
    return sliced(found, rows, name)


def table_of(
    numbered: Sequence[Numbered],
    where: str,
    among: Sequence[str] = ALL,
    columns: Mapping[str, str] = EMPTY,
    layout: str | None = None,
) -> Table:
    """Stored rows as typed ones. ValueError when none can be read or no layout is found (see `find_layout`)."""
    readable = [one.row for one in numbered if one.fault is None]
    if not readable:
        raise ValueError(f"{where} has no row that can be used; the first fault: {numbered[0].fault}")
    found = find_layout(readable, where, among, columns, layout)
    good: list[Row] = []
    bad: list[BadRow] = []
    for one in numbered:
        try:
            if one.fault is not None:
                raise one.fault
            good.append(typed(one, found, where))
        except BadRow as fault:
            bad.append(fault)
    return Table(where, found, good, bad)


def usable(table: Table, on_bad_rows: str) -> list[Row]:
    """The rows that can be used. 'error': the first bad row is raised. 'skip': they are left out, with a warning."""
    if known(on_bad_rows) == "error" and table.bad:
        raise table.bad[0]
    if not table.rows:
        raise ValueError(f"{table.where} has no row that can be used; the first fault: {table.bad[0]}")
    if table.bad:
        warnings.warn(skipped(table), stacklevel=2)
    return table.rows


def known(on_bad_rows: str) -> OnBadRows:
    """What is to happen to bad rows, checked. ValueError when it is neither."""
    if on_bad_rows not in ("error", "skip"):
        raise ValueError(f"on_bad_rows is {on_bad_rows!r}; expected 'error' or 'skip'")
    return "error" if on_bad_rows == "error" else "skip"


def skipped(table: Table) -> str:
    """What is said of bad rows that are left out."""
    return f"{len(table.bad)} of {table.total} rows of {table.where} skipped, the first because of: {table.bad[0]}."
