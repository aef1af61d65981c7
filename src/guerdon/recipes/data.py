"""Rows of a file as groups to learn from: demonstrations to imitate, and pairs to prefer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.data.episodes import dialogue, from_text, written
from guerdon.data.layouts import DEMONSTRATIONS, FIELDS, PREFERENCES
from guerdon.data.row import Row
from guerdon.data.table import Table, stored, table_of, usable
from guerdon.names import nearest
from guerdon.tasks.files import BadRow, Columns, Numbered
from guerdon.tasks.spec import parse
from guerdon.types import Group, Pair

if TYPE_CHECKING:
    from guerdon.chat import Chat

OPTIONS = ("on_bad_rows", "rows", "layout")
"""What may stand after a file's name beside the names of columns: `pairs.jsonl?on_bad_rows=skip&rows=:1000`."""


Make = Callable[[Row, "Chat", str], Group]
"""(row, chat, name of the row) -> the group it stands for."""


@dataclass(frozen=True)
class Read:
    """What is learned from rows. layouts: those it understands."""

    layouts: tuple[str, ...]
    make: Make

    def __call__(self, row: Columns, chat: Chat, name: str) -> Group:
        """The group that one stored row stands for. ValueError says what is wrong with it."""
        (read,) = usable(table_of([Numbered(1, row)], name, self.layouts), "error")
        return self.make(read, chat, name)


def groups(file: str, read: Read, chat: Chat) -> list[Group]:
    """A group per row of `file[?option=value&...]`, a .jsonl, .json, .csv or .parquet file.

    Options: `on_bad_rows`, `rows` and `layout`, and columns by field, such as `completion=answer`. BadRow names the
    file and the row that is unfit, unless bad rows are to be skipped: then a warning says how many were.
    """
    name, options, columns = read_options(file)
    on_bad_rows, path = options.get("on_bad_rows", "error"), Path(name).expanduser()
    table = table_of(stored(name, options.get("rows")), str(path), read.layouts, columns, options.get("layout"))
    found = list(attempts(table, read.make, chat))
    bad = [*table.bad, *(fault for _, fault in found if isinstance(fault, BadRow))]
    good = [(row, group) for row, group in found if not isinstance(group, BadRow)]
    usable(replace(table, rows=[row for row, _ in good], bad=sorted(bad, key=lambda fault: fault.row)), on_bad_rows)
    return [group for _, group in good]


def attempts(table: Table, make: Make, chat: Chat) -> Iterator[tuple[Row, Group | BadRow]]:
    """Each row of a table with the group it becomes, or with why it cannot be written as this chat writes."""
    name = Path(table.where).name
    for row in table.rows:
        try:
            yield row, make(row, chat, f"{name}/{row.number}")
        except (ValueError, TypeError) as error:
            yield row, BadRow(table.where, row.number, str(error))


def read_options(file: str, further: Sequence[str] = ()) -> tuple[str, dict[str, Any], dict[str, str]]:
    """(name, options, columns by field) of `file[?option=value&...]`. ValueError for what is neither.

    further: options that are accepted beside OPTIONS.
    """
    name, given = parse(file)
    accepted = (*OPTIONS, *further)
    for key in given:
        if key not in (*accepted, *FIELDS):
            raise ValueError(f"{name} has no option {key!r}{nearest(key, [*accepted, *FIELDS])}")
    options = {key: value for key, value in given.items() if key in accepted}
    return name, options, {key: str(value) for key, value in given.items() if key in FIELDS}


def _demonstration(row: Row, chat: Chat, name: str) -> Group:
    if row.text is not None:
        return [from_text(name, row.text, chat)]
    if row.messages is not None:
        return [written(name, row.messages, chat, last=False)]
    return [written(name, dialogue(row.prompt, row.completion, chat), chat)]


def _preference(row: Row, chat: Chat, name: str) -> Group:
    chosen, rejected = (written(name, dialogue(row.prompt, reply, chat), chat) for reply in (row.chosen, row.rejected))
    return Pair(chosen, rejected, 1.0 if row.margin is None else row.margin).group()


demonstration = Read(DEMONSTRATIONS, _demonstration)
"""The completion is learned; of a conversation every reply of the assistant; of a text all of it."""

preference = Read(PREFERENCES, _preference)
"""The better and the worse reply to a prompt, or whole conversations that differ in the last reply."""
