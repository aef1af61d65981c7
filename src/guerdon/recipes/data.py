"""Rows of a file as groups to learn from: demonstrations to imitate, and pairs to prefer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.data.columns import columns_of, with_columns
from guerdon.data.episodes import dialogue, from_text, written
from guerdon.data.layouts import DEMONSTRATIONS, FIELDS, PREFERENCES, UNPAIRED
from guerdon.data.row import Row
from guerdon.data.table import Table, stored, table_of, usable
from guerdon.names import nearest
from guerdon.tasks.files import BadRow, Columns, Numbered
from guerdon.tasks.spec import parse
from guerdon.types import Group, Pair, Score

if TYPE_CHECKING:
    from guerdon.chat import Chat
    from guerdon.method import Method

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
    return [group for _, group in written_rows(file, read, chat)]


def written_rows(file: str, read: Read, chat: Chat) -> list[tuple[Row, Group]]:
    """Each row of a file with the group it stands for, as `groups` reads them."""
    table, on_bad_rows = _table(file, read)
    found = list(attempts(table, read.make, chat))
    bad = [*table.bad, *(fault for _, fault in found if isinstance(fault, BadRow))]
    good = [(row, group) for row, group in found if not isinstance(group, BadRow)]
    usable(replace(table, rows=[row for row, _ in good], bad=sorted(bad, key=lambda fault: fault.row)), on_bad_rows)
    return good


def rows(file: str, read: Read) -> list[Row]:
    """The rows of a file before any is written as a chat writes: without those whose parts are unfit."""
    return _table(file, read)[0].rows


def _table(file: str, read: Read) -> tuple[Table, str]:
    """(the file as a table, what is to happen to bad rows)."""
    name, options, columns = read_options(file)
    where = str(Path(name).expanduser())
    table = table_of(stored(name, options.get("rows")), where, read.layouts, columns, options.get("layout"))
    return table, options.get("on_bad_rows", "error")


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


def _labelled(row: Row, chat: Chat, name: str) -> Group:
    episode = written(name, dialogue(row.prompt, row.completion, chat), chat)
    return [replace(episode, scores={"label": Score(1.0 if row.label else -1.0)})]


labelled = Read(UNPAIRED, _labelled)
"""One completion, whose return is 1 where the label is true and -1 where it is not."""


def beside(read: Read, method: Method) -> Read:
    """A reading that also takes the columns that a method's terms need (`data.columns.column`)."""
    names = columns_of(need for term in method.terms for need in term.objective.needs)
    return replace(read, make=_marking(read.make, names)) if names else read


def _marking(make: Make, names: list[str]) -> Make:
    def marking(row: Row, chat: Chat, name: str) -> Group:
        return with_columns(make(row, chat, name), row.data, names)

    return marking
