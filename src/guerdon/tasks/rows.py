"""Task sets from rows with named columns: JSON lines, JSON, CSV, Parquet, and Hugging Face data sets.

One column is the prompt: text, or chat messages that end with somebody other than the assistant. One, if there is
any, is the answer, kept under `data["answer"]` as it is stored. Every other column goes into the task's data under
its own name, where rewards find it. A task's id names its row. `guerdon.data` says how columns are told apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.data.layouts import TASKS
from guerdon.data.row import Row
from guerdon.data.table import OnBadRows, skipped, stored, table_of, usable
from guerdon.rewards.verify.number import NumericMatch
from guerdon.rewards.verify.text import ExactMatch
from guerdon.rollouts.base import derive
from guerdon.tasks.base import Listed, TaskSet, held_out
from guerdon.tasks.files import Numbered, read_hub, sliced
from guerdon.types import Task

if TYPE_CHECKING:
    from guerdon.rewards.base import Reward


def file_tasks(
    path: str,
    prompt: str | None = None,
    answer: str | None = None,
    heldout: str | None = None,
    on_bad_rows: OnBadRows = "error",
    rows: str | None = None,
) -> TaskSet:
    """Tasks of a .jsonl, .json, .csv or .parquet file.

    prompt, answer: names of the columns; by default the first of PROMPT_COLUMNS and of ANSWER_COLUMNS that at least
    half of the rows have, or those of verl's layout. heldout: another such file; without one, a hash of the prompt
    holds out a tenth of the rows, at least one. on_bad_rows: 'error' stops at the first bad row, 'skip' leaves bad rows
    out and says how many there were. rows: a part of the file, 'first:last' ('-100:' the last 100).
    """
    parts = {"train": (str(path), stored(path, rows))}
    if heldout is not None:
        parts["heldout"] = (str(heldout), stored(heldout))
    return _task_set(Path(path).stem, parts, prompt, answer, on_bad_rows)


def hub_tasks(
    name: str,
    prompt: str | None = None,
    answer: str | None = None,
    heldout: str | None = None,
    on_bad_rows: OnBadRows = "error",
    rows: str | None = None,
) -> TaskSet:
    """Tasks of a Hugging Face data set `name[:config][:split]`, from the hub or a local folder.

    heldout: another split of the same data set ('test'); else as for `file_tasks`, like everything not said here.
    """
    parts = {"train": (f"hub:{name}", sliced(read_hub(name, None), rows, f"hub:{name}"))}
    if heldout is not None:
        parts["heldout"] = (f"hub:{name} split {heldout}", read_hub(name, heldout))
    return _task_set(f"hub:{name}", parts, prompt, answer, on_bad_rows)


def _task_set(
    name: str,
    rows: Mapping[str, tuple[str, list[Numbered]]],
    prompt: str | None,
    answer: str | None,
    on_bad_rows: OnBadRows,
) -> TaskSet:
    columns = {field: column for field, column in (("prompt", prompt), ("answer", answer)) if column is not None}
    notes: list[str] = []
    parts = {
        part: _tasks(f"{name}/{part}" if part == "heldout" else name, where, numbered, columns, on_bad_rows, notes)
        for part, (where, numbered) in rows.items()
    }
    train = parts["train"]
    train, heldout = _without(train, parts["heldout"], notes) if "heldout" in parts else _split(train, name)
    reward = fitting_reward([*train, *heldout])
    counts = f"{len(train)} training rows, {len(heldout)} held out; scored by {reward.name} match."
    return TaskSet(name, Listed(train), Listed(heldout), reward, " ".join([counts, *notes]))


def _tasks(
    name: str,
    where: str,
    numbered: Sequence[Numbered],
    columns: Mapping[str, str],
    on_bad_rows: OnBadRows,
    notes: list[str],
) -> list[Task]:
    table = table_of(numbered, where, TASKS, columns)
    rows = usable(table, on_bad_rows)
    if table.bad:
        notes.append(skipped(table))
    return [task_of(row, name) for row in rows]


def task_of(row: Row, name: str) -> Task:
    """A row as a task of the set `name`: its answer, if it has one, is in the data under 'answer'."""
    answer = {} if row.answer is None else {"answer": row.answer}
    return Task(f"{name}/{row.number}", row.prompt, {**row.data, **answer})


def _split(tasks: Sequence[Task], name: str) -> tuple[list[Task], list[Task]]:
    """A tenth held out by a hash of the prompt, so that equal prompts stay together; at least one prompt each."""
    prompts = sorted({str(task.prompt) for task in tasks}, key=lambda prompt: derive("held out", prompt))
    if len(prompts) < 2:
        raise ValueError(f"{name} has one different prompt only; expected two or more to hold one out, or heldout=...")
    out = {prompt for prompt in prompts if held_out(prompt)}
    out = (out or {prompts[0]}) - ({prompts[-1]} if len(out) == len(prompts) else set())
    return [t for t in tasks if str(t.prompt) not in out], [t for t in tasks if str(t.prompt) in out]


def _without(train: list[Task], heldout: list[Task], notes: list[str]) -> tuple[list[Task], list[Task]]:
    held = {str(task.prompt) for task in heldout}
    kept = [task for task in train if str(task.prompt) not in held]
    if not kept:
        raise ValueError("every training prompt is held out too; expected different rows in the two")
    if len(kept) < len(train):
        notes.append(f"{len(train) - len(kept)} training rows left out: their prompts are held out.")
    return kept, heldout


_PLAIN_NUMBER = re.compile(r"\s*[-+]?[\d.,]*\d\s*")


def fitting_reward(tasks: Sequence[Task]) -> Reward:
    """Numeric match where every answer is a number or a worked solution ending in '#### number', else exact match."""
    answers = [task.data.get("answer") for task in tasks]
    numeric = all(_is_number(answer) for answer in answers)
    return NumericMatch() if numeric else ExactMatch()


def _is_number(answer: Any) -> bool:
    if isinstance(answer, str):
        return "####" in answer or _PLAIN_NUMBER.fullmatch(answer) is not None
    return isinstance(answer, int | float) and not isinstance(answer, bool)
