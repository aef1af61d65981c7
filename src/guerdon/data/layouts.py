"""The layouts that files of rows have, and which one a file has: told by its columns, never guessed between two.

A layout says which of its fields (`prompt`, `answer`, `chosen`, ...) is read from which column. A column may lie inside
another: `reward_model.ground_truth`. Columns that no field is read from are kept as data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.names import nearest
from guerdon.tasks.files import Columns
from guerdon.types import EMPTY

PROMPT_COLUMNS = ("prompt", "question", "problem", "input", "messages")
"""Tried in this order where no prompt column is named."""

ANSWER_COLUMNS = ("answer", "solution", "target", "gold", "label")
"""Tried in this order where no answer column is named; a set of tasks may have none."""

_ASKED = {"prompt": PROMPT_COLUMNS[:-1]}
_PROBLEM = {"prompt": PROMPT_COLUMNS, "answer": ANSWER_COLUMNS}
_VERL = {"prompt": ("prompt",), "answer": ("reward_model.ground_truth",)}


@dataclass(frozen=True)
class Kind:
    """A layout before it meets a file.

    needs, may: its fields. says: what is learned or scored, for people. looks: the columns tried for a field, by
    default its own name.
    """

    name: str
    needs: tuple[str, ...]
    says: str
    may: tuple[str, ...] = ()
    looks: Mapping[str, tuple[str, ...]] = EMPTY

    def tried(self, field: str) -> tuple[str, ...]:
        return self.looks.get(field, (field,))


KINDS = {
    kind.name: kind
    for kind in (
        Kind("question-answer", ("prompt", "answer"), "tasks: replies are scored against the answer", looks=_PROBLEM),
        Kind("verl", ("prompt", "answer"), "tasks: replies are scored against the ground truth", looks=_VERL),
        Kind("prompt-only", ("prompt",), "tasks without an answer: a reward of yours scores them", looks=_PROBLEM),
        Kind("prompt-completion", ("prompt", "completion"), "the completion is learned", looks=_ASKED),
        Kind("instruction", ("instruction", "output"), "the output is learned", ("input",)),
        Kind(
            "messages",
            ("messages",),
            "every reply of the assistant is learned",
            looks={"messages": ("messages", "conversations")},
        ),
        Kind("text", ("text",), "the whole text is learned"),
        Kind(
            "preference",
            ("chosen", "rejected"),
            "chosen is learned to be better than rejected",
            ("prompt", "margin"),
            _ASKED,
        ),
        Kind("unpaired-preference", ("prompt", "completion", "label"), "the label says if it is good", looks=_ASKED),
        Kind("stepwise", ("prompt", "completions", "labels"), "labels say which steps are right", looks=_ASKED),
    )
}
"""Every layout by name."""

TASKS = ("question-answer", "verl", "prompt-only")
DEMONSTRATIONS = ("messages", "prompt-completion", "instruction", "text")
PREFERENCES = ("preference",)
UNPAIRED = ("unpaired-preference",)
ALL = tuple(KINDS)
FIELDS = tuple(dict.fromkeys(field for kind in KINDS.values() for field in (*kind.needs, *kind.may)))


@dataclass(frozen=True)
class Layout:
    """A kind bound to a file's columns. columns: the column (or path into one) of each of its fields."""

    kind: Kind
    columns: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.kind.name

    def data(self, row: Columns) -> dict[str, Any]:
        """What no field is read from, and the answer's column under its own name."""
        read = {column for field, column in self.columns.items() if field != "answer"}
        return {name: value for name, value in row.items() if name not in read}


def value_of(row: Columns, column: str) -> Any:
    """What a row has in a column, or at a path into one; None when it is not there."""
    if column in row:
        return row[column]
    found: Any = row
    for part in column.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def find_layout(
    rows: Sequence[Columns],
    where: str,
    among: Sequence[str] = ALL,
    columns: Mapping[str, str] = EMPTY,
    named: str | None = None,
) -> Layout:
    """The layout of these rows: the one among `among` (or the one `named`) whose fields are all there.

    columns: fields whose column is named. A column counts when at least half of the rows have it. Of two layouts, one
    whose columns include the other's wins. ValueError when none fits, or when two do: it lists what was found.
    """
    if named is not None and named not in KINDS:
        raise ValueError(f"there is no layout {named!r}{nearest(named, KINDS)}")
    _check_named(rows, where, columns)
    usual = _usual(rows)
    kinds = [KINDS[name] for name in ((named,) if named else among)]
    bound = [found for kind in kinds if (found := _bind(kind, rows, usual, columns)) is not None]
    fitting = _most_specific(bound if len(bound) < 2 else [one for one in bound if _holds(one, rows)] or bound)
    if not fitting:
        raise ValueError(f"{where} {_lacking(kinds, rows, usual, columns)}")
    if len(fitting) > 1:
        read = "; ".join(f"{one.name} ({', '.join(one.columns.values())})" for one in fitting)
        raise ValueError(
            f"{where} can be read in {len(fitting)} ways: {read}. Found the columns {sorted(usual)}; "
            "name the columns (such as prompt=...) or the layout (layout=...)"
        )
    return fitting[0]


def _check_named(rows: Sequence[Columns], where: str, columns: Mapping[str, str]) -> None:
    counts = Counter(name for row in rows for name in row)
    for field, column in columns.items():
        if field not in FIELDS:
            raise ValueError(f"{where}: there is no field {field!r}{nearest(field, FIELDS)}")
        if column not in counts and not any(value_of(row, column) is not None for row in rows):
            raise ValueError(f"{where} has no column {column!r}{nearest(column, counts)}")


def _usual(rows: Sequence[Columns]) -> set[str]:
    """Columns that at least half of the rows have, and some with a value: Parquet gives every row every column."""
    counts = Counter(name for row in rows for name in row)
    filled = {name for row in rows for name, value in row.items() if value is not None}
    return {name for name, count in counts.items() if count * 2 >= len(rows) and name in filled}


def _bind(kind: Kind, rows: Sequence[Columns], usual: set[str], columns: Mapping[str, str]) -> Layout | None:
    if not set(columns) <= {*kind.needs, *kind.may}:
        return None
    found = {field: _column(kind, field, rows, usual, columns) for field in (*kind.needs, *kind.may)}
    if any(found[field] is None for field in kind.needs):
        return None
    return Layout(kind, {field: column for field, column in found.items() if column is not None})


def _column(kind: Kind, field: str, rows: Sequence[Columns], usual: set[str], columns: Mapping[str, str]) -> str | None:
    if field in columns:
        return columns[field]
    return next((name for name in kind.tried(field) if _is_there(name, field, rows, usual)), None)


def _is_there(name: str, field: str, rows: Sequence[Columns], usual: set[str]) -> bool:
    if field == "prompt" and name == "input" and "instruction" in usual:
        return False  # half of a prompt
    if field == "answer" and name == "label" and "completion" in usual:
        return False  # of the completion
    inside = "." in name and sum(value_of(row, name) is not None for row in rows) * 2 >= len(rows)
    return name in usual or inside


def _holds(layout: Layout, rows: Sequence[Columns]) -> bool:
    """Whether messages are what the layout takes them for: a whole conversation, or one that waits for a reply."""
    field = "messages" if "messages" in layout.columns else "prompt"
    column = layout.columns.get(field)
    if column not in ("messages", "conversations"):
        return True
    values = (value_of(row, column) for row in rows)
    last = next((value[-1] for value in values if isinstance(value, list) and value), None)
    replied = isinstance(last, Mapping) and (last.get("role") or last.get("from")) in ("assistant", "gpt")
    return replied == (field == "messages")


def _most_specific(found: Sequence[Layout]) -> list[Layout]:
    sets = [set(one.columns.values()) for one in found]
    kept = [one for one, mine in zip(found, sets, strict=True) if not any(mine < other for other in sets)]
    different = {frozenset(one.columns.values()): one for one in reversed(kept)}
    return [one for one in kept if one in different.values()]


def _lacking(kinds: Sequence[Kind], rows: Sequence[Columns], usual: set[str], columns: Mapping[str, str]) -> str:
    """What is missing: the one field that all kinds lack, if there is one."""
    lacks = [[f for f in kind.needs if _column(kind, f, rows, usual, columns) is None] for kind in kinds]
    shared = [field for field in lacks[0] if all(field in one for one in lacks)]
    if shared:
        field = shared[0]
        tried = ", ".join(dict.fromkeys(name for kind in kinds for name in kind.tried(field)))
        return f"has no {field} column: found {sorted(usual)}, looked for {tried}; name it: {field}=..."
    expected = "; ".join(f"{kind.name} ({', '.join(kind.needs)})" for kind in kinds)
    fields = f" with the fields {sorted(columns)} named" if columns else ""
    return f"fits no layout{fields}: found the columns {sorted(usual)}; expected one of {expected}"
