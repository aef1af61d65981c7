"""Rows of a file or data set: what is stored, numbered from 1, before anybody asks what it means."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Columns = Mapping[str, Any]
"""What one row holds, by column."""

EXTENSIONS = (".jsonl", ".json", ".csv", ".parquet")
FOLDER_MARKS = ("dataset_info.json", "dataset_dict.json", "state.json")


class BadRow(ValueError):
    """A row that cannot be used: names the file, the row, what was found, and what was expected if that adds to it."""

    def __init__(self, where: str, row: int, found: str, expected: str = "") -> None:
        super().__init__(f"{where}, row {row}: {found}" + (f"; expected {expected}" if expected else ""))
        self.where, self.row, self.found, self.expected = where, row, found, expected

    def __reduce__(self) -> tuple[object, ...]:
        return BadRow, (self.where, self.row, self.found, self.expected)


@dataclass(frozen=True)
class Numbered:
    """One stored row. number: from 1; for JSON lines, the line in the file. fault: why it could not be read."""

    number: int
    row: Columns
    fault: BadRow | None = None


def read_rows(path: Path) -> list[Numbered]:
    """Every row of a .jsonl, .json (a list of objects), .csv (first line names the columns) or .parquet file.

    Lines end at a newline only, so that texts may hold any other Unicode line separator. ValueError when the file is
    missing, empty or of another kind; a row that cannot be read carries its fault.
    """
    if not path.is_file():
        raise ValueError(f"task file {path} does not exist (looked in {Path.cwd()})")
    if path.suffix.lower() not in EXTENSIONS:
        raise ValueError(f"task file {path} has the extension {path.suffix!r}; expected one of {', '.join(EXTENSIONS)}")
    read = {".jsonl": _json_lines, ".json": _json_list, ".csv": _csv, ".parquet": _parquet}[path.suffix.lower()]
    return _not_empty(list(read(path)), str(path))


def read_hub(name: str, split: str | None) -> list[Numbered]:
    """Rows of `name[:config][:split]`: a Hugging Face data set, or a folder that it wrote or can read.

    One name after the data set's own is its config, unless it is train, test, validation, dev or a slice of one.
    The split is the one given here, else the one in the name, else train.
    """
    path, config, in_name = split_hub_name(name)
    split = split or in_name or "train"
    try:
        import datasets
    except ImportError as error:
        raise ImportError("tasks 'hub:...' need the package datasets: pip install 'guerdon[hub]'") from error
    try:
        if any((Path(path) / mark).is_file() for mark in FOLDER_MARKS):
            rows = _from_disk(datasets.load_from_disk(path), split, path)
        else:
            rows = datasets.load_dataset(path, config, split=split)
    except (OSError, ValueError) as error:
        raise ValueError(f"data set {path!r} (config {config}, split {split}) cannot be loaded: {error}") from error
    return _not_empty([Numbered(i, dict(row)) for i, row in enumerate(rows, 1)], f"hub:{name} split {split}")


def sliced(rows: list[Numbered], part: str | None, where: str) -> list[Numbered]:
    """The rows that 'first:last' names, as Python slices: '-100:' the last 100, ':50' the first 50; None: all.

    Numbers of rows stay those of the file. ValueError when it is no slice, or leaves nothing.
    """
    if part is None:
        return rows
    found = re.fullmatch(r"(-?\d+)?:(-?\d+)?", str(part).strip())
    if found is None:
        raise ValueError(f"{where}: rows is {part!r}; expected first:last, such as '-100:' for the last 100")
    left = rows[slice(*(None if edge is None else int(edge) for edge in found.groups()))]
    if not left:
        raise ValueError(f"{where}: rows {part} leaves none of its {len(rows)} rows")
    return left


def split_hub_name(name: str) -> tuple[str, str | None, str | None]:
    """'name[:config][:split]' as (name, config, split), None for what is left out."""
    path, *rest = re.split(r":(?![^\[]*\])", name)
    if len(rest) == 1 and re.match(r"(train|test|validation|dev)\b", rest[0]):
        rest = ["", rest[0]]
    if len(rest) > 2:
        raise ValueError(f"data set {name!r} has {len(rest)} parts after its name; expected name[:config][:split]")
    config, split = [part or None for part in [*rest, "", ""][:2]]
    return path, config, split


def _from_disk(stored: Any, split: str, path: str) -> Any:
    if not hasattr(stored, "keys"):
        return stored
    if split not in stored:
        raise ValueError(f"folder {path} has no split {split!r}; it has {sorted(stored)}")
    return stored[split]


def _not_empty(rows: list[Numbered], where: str) -> list[Numbered]:
    if not rows:
        raise ValueError(f"{where} holds no rows; expected at least one")
    return rows


def _json_lines(path: Path) -> Iterator[Numbered]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if text.strip():
                yield _parsed(text, number, str(path))


def _parsed(line: bytes, number: int, where: str) -> Numbered:
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        return Numbered(number, {}, BadRow(where, number, f"byte {error.start} is not UTF-8", "UTF-8 text"))
    except (json.JSONDecodeError, RecursionError) as error:
        return Numbered(number, {}, BadRow(where, number, f"malformed JSON ({error})", "one JSON object per line"))
    return _object(row, number, where)


def _object(row: Any, number: int, where: str) -> Numbered:
    if not isinstance(row, dict):
        return Numbered(
            number, {}, BadRow(where, number, f"a JSON {type(row).__name__}", "an object with named columns")
        )
    try:
        json.dumps(row, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return Numbered(number, {}, BadRow(where, number, "half a surrogate pair, which is no character", "valid text"))
    return Numbered(number, row)


def _json_list(path: Path) -> Iterator[Numbered]:
    try:
        rows = json.loads(path.read_bytes().decode("utf-8-sig") or "[]")
    except ValueError as error:
        raise ValueError(f"{path} is malformed JSON: {error}; for one object per line name it .jsonl") from error
    if not isinstance(rows, list):
        raise ValueError(f"{path} holds a JSON {type(rows).__name__}; expected a list of objects")
    yield from (_object(row, number, str(path)) for number, row in enumerate(rows, 1))


def _csv(path: Path) -> Iterator[Numbered]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        number = 0
        try:
            for number, row in enumerate(reader, 1):
                if None in row or None in row.values():
                    found = "more" if None in row else "fewer"
                    columns = len(reader.fieldnames or ())
                    fault = BadRow(str(path), number, f"{found} cells than the first line has", f"{columns} cells")
                    yield Numbered(number, {}, fault)
                else:
                    yield Numbered(number, row)
        except (csv.Error, UnicodeDecodeError) as error:
            raise BadRow(str(path), number + 1, str(error), "UTF-8 text in cells joined by commas") from error


def _parquet(path: Path) -> Iterator[Numbered]:
    from pyarrow import ArrowInvalid
    from pyarrow.parquet import read_table

    try:
        rows = read_table(path).to_pylist()
    except (ArrowInvalid, OSError) as error:
        raise ValueError(f"{path} is no readable Parquet file: {error}") from error
    yield from (Numbered(number, row) for number, row in enumerate(rows, 1))
