"""Task sets from rows with named columns: JSON lines, JSON, CSV, Parquet, and Hugging Face data sets.

One column is the prompt: text, or chat messages that end with somebody other than the assistant. One, if there is
any, is the answer, kept under `data["answer"]` as it is stored. Every other column goes into the task's data under
its own name, where rewards find it. A task's id names its row.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from guerdon.names import nearest
from guerdon.rewards.verify.number import NumericMatch
from guerdon.rewards.verify.text import ExactMatch
from guerdon.rollouts.base import derive
from guerdon.tasks.base import Listed, TaskSet, held_out
from guerdon.tasks.files import BadRow, Numbered, read_hub, read_rows
from guerdon.types import Task

if TYPE_CHECKING:
    from guerdon.rewards.base import Reward

PROMPT_COLUMNS = ("prompt", "question", "problem", "input", "messages")
"""Tried in this order where no prompt column is named."""

ANSWER_COLUMNS = ("answer", "solution", "target", "gold", "label")
"""Tried in this order where no answer column is named; a set may have none."""

ROLES = ("system", "developer", "user", "assistant", "tool")

OnBadRows = Literal["error", "skip"]


def file_tasks(
    path: str,
    prompt: str | None = None,
    answer: str | None = None,
    heldout: str | None = None,
    on_bad_rows: OnBadRows = "error",
) -> TaskSet:
    """Tasks of a .jsonl, .json, .csv or .parquet file.

    prompt, answer: names of the columns; by default the first of PROMPT_COLUMNS and of ANSWER_COLUMNS that at least
    half of the rows have. heldout: another such file; without one, a hash of the prompt holds out a tenth of the
    rows, at least one. on_bad_rows: 'error' stops at the first bad row, 'skip' leaves bad rows out and says how many
    there were.
    """
    where = Path(path)
    rows = {"train": (str(path), read_rows(where))}
    if heldout is not None:
        rows["heldout"] = (str(heldout), read_rows(Path(heldout)))
    return _task_set(where.stem, rows, prompt, answer, on_bad_rows)


def hub_tasks(
    name: str,
    prompt: str | None = None,
    answer: str | None = None,
    heldout: str | None = None,
    on_bad_rows: OnBadRows = "error",
) -> TaskSet:
    """Tasks of a Hugging Face data set `name[:config][:split]`, from the hub or a local folder.

    heldout: another split of the same data set ('test'); else as for `file_tasks`, like everything not said here.
    """
    rows = {"train": (f"hub:{name}", read_hub(name, None))}
    if heldout is not None:
        rows["heldout"] = (f"hub:{name} split {heldout}", read_hub(name, heldout))
    return _task_set(f"hub:{name}", rows, prompt, answer, on_bad_rows)


def _task_set(
    name: str,
    rows: Mapping[str, tuple[str, list[Numbered]]],
    prompt: str | None,
    answer: str | None,
    on_bad_rows: OnBadRows,
) -> TaskSet:
    if on_bad_rows not in ("error", "skip"):
        raise ValueError(f"on_bad_rows is {on_bad_rows!r}; expected 'error' or 'skip'")
    notes: list[str] = []
    parts = {
        part: _tasks(
            f"{name}/{part}" if part == "heldout" else name, where, numbered, prompt, answer, on_bad_rows, notes
        )
        for part, (where, numbered) in rows.items()
    }
    train = parts["train"]
    train, heldout = _without(train, parts["heldout"], notes) if "heldout" in parts else _split(train, name)
    reward = _fitting_reward([*train, *heldout])
    counts = f"{len(train)} training rows, {len(heldout)} held out; scored by {reward.name} match."
    return TaskSet(name, Listed(train), Listed(heldout), reward, " ".join([counts, *notes]))


def _tasks(
    name: str,
    where: str,
    rows: Sequence[Numbered],
    prompt: str | None,
    answer: str | None,
    on_bad_rows: OnBadRows,
    notes: list[str],
) -> list[Task]:
    readable = [one.row for one in rows if one.fault is None]
    columns = _columns(readable, where, prompt, answer) if readable else ("", None)
    tasks, faults = [], []
    for one in rows:
        try:
            if one.fault is not None:
                raise one.fault
            tasks.append(_task(f"{name}/{one.number}", one, where, *columns))
        except BadRow as fault:
            if on_bad_rows == "error":
                raise
            faults.append(fault)
    if faults:
        notes.append(f"{len(faults)} of {len(rows)} rows of {where} skipped, the first because of: {faults[0]}.")
        warnings.warn(notes[-1], stacklevel=2)
    if not tasks:
        raise ValueError(f"{where} has no row that can be used; the first fault: {faults[0]}")
    return tasks


def _columns(
    rows: Sequence[Mapping[str, Any]], where: str, prompt: str | None, answer: str | None
) -> tuple[str, str | None]:
    counts = Counter(key for row in rows for key in row)
    for given in (prompt, answer):
        if given is not None and given not in counts:
            raise ValueError(f"{where} has no column {given!r}{nearest(given, counts)}")
    usual = {key for key, count in counts.items() if count * 2 >= len(rows)}
    prompt = prompt or next((name for name in PROMPT_COLUMNS if name in usual), None)
    if prompt is None:
        tried = ", ".join(PROMPT_COLUMNS)
        raise ValueError(
            f"{where} has no prompt column: found {sorted(usual)}, looked for {tried}; name it: prompt=..."
        )
    return prompt, answer or next((name for name in ANSWER_COLUMNS if name in usual and name != prompt), None)


def _task(task_id: str, one: Numbered, where: str, prompt: str, answer: str | None) -> Task:
    if one.row.get(prompt) is None:
        raise BadRow(where, one.number, f"no value under {prompt!r}, it has {sorted(one.row)}", "a prompt")
    data = {key: value for key, value in one.row.items() if key != prompt}
    if answer is not None:
        if one.row.get(answer) in (None, []):
            raise BadRow(where, one.number, f"no value under {answer!r}", "an answer")
        data["answer"] = one.row[answer]
    return Task(task_id, _prompt(one.row[prompt], prompt, where, one.number), data)


def _prompt(value: Any, key: str, where: str, row: int) -> str | list[dict[str, Any]]:
    if isinstance(value, str) and value.strip():
        return value
    if not isinstance(value, list) or not value:
        found = f"{key!r} is {'empty' if not value else f'a {type(value).__name__}'}"
        raise BadRow(where, row, found, "text, or a list of messages")
    messages = [_message(message, f"{key}[{i}]", where, row) for i, message in enumerate(value)]
    if messages[-1]["role"] == "assistant":
        raise BadRow(where, row, f"{key!r} ends with the assistant's turn", "a last message for the policy to answer")
    return messages


def _message(value: Any, key: str, where: str, row: int) -> dict[str, Any]:
    if not isinstance(value, Mapping) or value.get("role") not in ROLES:
        found = f"{key} has the role {value.get('role')!r}" if isinstance(value, Mapping) else f"{key} is no object"
        raise BadRow(where, row, found, f"an object with a role among {', '.join(ROLES)}")
    if not isinstance(value.get("content"), str | list) and not value.get("tool_calls"):
        raise BadRow(where, row, f"{key} has the content {value.get('content')!r}", "text")
    # Parquet gives every message every key that any message has.
    return {name: item for name, item in value.items() if item is not None or name == "content"}


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


def _fitting_reward(tasks: Sequence[Task]) -> Reward:
    """Numeric match where every answer is a number or a worked solution ending in '#### number', else exact match."""
    answers = [task.data.get("answer") for task in tasks]
    numeric = all(_is_number(answer) for answer in answers)
    return NumericMatch() if numeric else ExactMatch()


def _is_number(answer: Any) -> bool:
    if isinstance(answer, str):
        return "####" in answer or _PLAIN_NUMBER.fullmatch(answer) is not None
    return isinstance(answer, int | float) and not isinstance(answer, bool)
