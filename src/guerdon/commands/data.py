"""`guerdon data check`: what a file of rows is understood as, and what would go wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.commands.data_words import lines
from guerdon.commands.output import Failed
from guerdon.data.table import OnBadRows, Table
from guerdon.keys import UsageError
from guerdon.tasks.files import BadRow

if TYPE_CHECKING:
    from guerdon.chat import Chat
    from guerdon.commands.model import Words
    from guerdon.data.row import Row
    from guerdon.types import Group


@dataclass(frozen=True)
class Wish:
    """What was asked of `guerdon data check`."""

    file: str
    model: str | None = None
    layout: str | None = None
    columns: Sequence[str] = ()
    rows: str | None = None
    against: str | None = None
    reward: str | None = None
    max_prompt_tokens: int | None = None
    on_bad_rows: str | None = None
    show: int = 1
    probe: int = 0


def check(wish: Wish) -> dict[str, Any]:
    """Print what was understood and found, and return it. Failed, with the same, when something is wrong with a row."""
    from guerdon.commands.model import load_words
    from guerdon.data.check import characters, repeats

    if wish.model is None and (wish.max_prompt_tokens is not None or wish.probe):
        raise UsageError("--max-prompt-tokens and --probe need --model: whose tokens, and who is asked")
    wish, options = _told_in_name(wish)
    stored, on_bad_rows = _table(wish, options["name"])
    table = _framed(stored, options["template"], options["system"])
    words = None if wish.model is None else load_words(wish.model)
    shown, tokens = _plainly(table, wish.show), None
    if words is not None:
        table, shown, tokens = _tokenised(table, words, wish.show, wish.max_prompt_tokens)
    fit = {row.number for row in table.rows}
    problems = replace(stored, rows=[row for row in stored.rows if row.number in fit])
    repeated = repeats(table.rows)
    result: dict[str, Any] = {
        "file": wish.file,
        "layout": table.layout.name,
        "learned": table.layout.kind.says,
        "columns": dict(table.layout.columns),
        "data": _kept(table),
        "rows": table.total,
        "usable": len(table.rows),
        "bad_rows": [{"row": fault.row, "reason": _reason(fault)} for fault in table.bad],
        "preview": shown,
        "characters": characters(table.rows),
        "tokens": tokens,
        "duplicates": repeated.same,
        "conflicts": repeated.conflicting,
        "gold": _gold(table, wish.reward),
        "overlap": None if wish.against is None else _overlap(problems.rows, wish.against),
        "probe": _probe(problems, wish) if wish.probe else None,
        "model": wish.model,
    }
    result["problems"] = _problems(result, on_bad_rows)
    for line in lines(result):
        print(line)
    if result["problems"]:
        raise Failed(f"{wish.file}: {'; '.join(result['problems'])}", "UnfitData", **result)
    return result


def _told_in_name(wish: Wish) -> tuple[Wish, dict[str, Any]]:
    """The wish with what its file's name says where the command line says nothing, and the options that shape prompts.

    Everything that `--tasks` and `--data` take is understood, so that a file is checked as it will be used: its reward
    tries the answers, and its held-out file is what it must not overlap with.
    """
    from guerdon.recipes.data import read_options

    name, options, columns = read_options(wish.file, TASK_OPTIONS)
    for pair in wish.columns:
        field, equals, column = pair.partition("=")
        if not equals or not field or not column:
            raise UsageError(f"--column is {pair!r}; expected field=column, such as prompt=question")
        columns[field] = column
    told = replace(
        wish,
        columns=tuple(f"{field}={column}" for field, column in columns.items()),
        rows=wish.rows or options.get("rows"),
        layout=wish.layout or options.get("layout"),
        on_bad_rows=wish.on_bad_rows or options.get("on_bad_rows", "error"),
        reward=wish.reward or options.get("reward"),
        against=wish.against or _heldout(name, options.get("heldout")),
    )
    return told, {"name": name, **{key: options.get(key) for key in ("template", "system")}}


TASK_OPTIONS = ("template", "system", "reward", "heldout")


def _heldout(name: str, heldout: str | None) -> str | None:
    """The held-out file; of a data set, the split of that name."""
    return f"{name}:{heldout}" if heldout and name.startswith("hub:") else heldout


def _table(wish: Wish, name: str) -> tuple[Table, OnBadRows]:
    """The table as it is stored, and what its bad rows mean."""
    from guerdon.data.layouts import ALL
    from guerdon.data.table import known, stored, table_of

    columns = dict(pair.split("=", 1) for pair in wish.columns)
    return table_of(stored(name, wish.rows), name, ALL, columns, wish.layout), known(str(wish.on_bad_rows))


def _framed(table: Table, template: str | None, system: str | None) -> Table:
    """The rows with the template around their prompts and the system message before them."""
    from guerdon.data.layouts import TASKS
    from guerdon.tasks.base import Listed
    from guerdon.tasks.rows import task_of
    from guerdon.tasks.spec import Framed

    if template is None and system is None:
        return table
    if table.layout.name not in TASKS:
        raise ValueError(
            f"{table.where}: template and system go around the prompts of tasks; found {table.layout.name}"
        )
    tasks = Framed(Listed([task_of(row, Path(table.where).stem) for row in table.rows]), template, system)
    return replace(table, rows=[replace(row, prompt=tasks.task(i).prompt) for i, row in enumerate(table.rows)])


def _kept(table: Table) -> list[str]:
    """Columns that no part of a row is read from."""
    read = {column.partition(".")[0] for column in table.layout.columns.values()}
    return sorted({name for row in table.rows for name in row.data} - read)


def _reason(fault: BadRow) -> str:
    return fault.found + (f"; expected {fault.expected}" if fault.expected else "")


def _plainly(table: Table, show: int) -> list[dict[str, Any]]:
    """The first rows as text, without a tokenizer."""
    from guerdon.data.row import plain

    shown = []
    for row in table.rows[:show]:
        given = [] if row.prompt is None else [_part("prompt", False, plain(row.prompt))]
        replies = [(name, getattr(row, name)) for name in ("completion", "chosen", "rejected", "messages", "text")]
        learned = [_part(name, True, plain(value)) for name, value in replies if value is not None]
        learned += [_part("step", label, step) for step, label in row.steps or ()]
        shown.append(_shown(row, [*given, *learned]))
    return shown


def _shown(row: Row, parts: list[dict[str, Any]]) -> dict[str, Any]:
    label = {} if row.label is None else {"label": row.label}
    answer = {} if row.answer is None else {"answer": row.answer}
    return {"row": row.number, "parts": parts, **answer, **label}


def _part(of: str, learned: bool, text: str) -> dict[str, Any]:
    return {"of": of, "learned": learned, "text": text}


def _tokenised(
    table: Table, words: Words, show: int, max_prompt_tokens: int | None
) -> tuple[Table, list[dict[str, Any]], dict[str, Any]]:
    """The table without the rows that cannot be written or are too long, the first ones as written, and lengths."""
    from guerdon.data.check import spread
    from guerdon.recipes.data import attempts

    rows, bad = [], list(table.bad)
    shown: list[dict[str, Any]] = []
    prompts, targets = [], []
    for row, group in attempts(table, _group, words.chat):
        fault = group if isinstance(group, BadRow) else _too_long(table, row, group, words, max_prompt_tokens)
        if isinstance(group, BadRow) or fault is not None:
            bad.append(fault or group)  # type: ignore[arg-type]
            continue
        rows.append(row)
        prompts.append(_tokens(group, learned=False)[0])
        targets += [n for n in _tokens(group, learned=True) if n]
        if len(shown) < show:
            shown.append(_shown(row, list(_written(group, words.chat))))
    fit = replace(table, rows=rows, bad=sorted(bad, key=lambda fault: fault.row))
    return fit, shown, {"prompt": spread(prompts), "target": spread(targets)}


def _group(row: Row, chat: Chat, name: str) -> Group:
    """The row as it is learned from; of a task, the prompt that is sampled from."""
    from guerdon.recipes.data import demonstration, preference
    from guerdon.types import Episode, Span, Task

    if row.chosen is not None:
        return preference.make(row, chat, name)
    if row.steps is not None:
        row = replace(row, completion="\n".join(step for step, _ in row.steps))
    if row.completion is not None or row.messages is not None or row.text is not None:
        return demonstration.make(row, chat, name)
    return [Episode(Task(name, row.prompt), [Span(chat.prompt(row.prompt))])]


def _too_long(table: Table, row: Row, group: Group, words: Words, max_prompt_tokens: int | None) -> BadRow | None:
    given, most = _tokens(group, learned=False)[0], words.positions
    if max_prompt_tokens is not None and given > max_prompt_tokens:
        return BadRow(table.where, row.number, f"a prompt of {given} tokens", f"at most {max_prompt_tokens}")
    whole = max(sum(len(span.tokens) for span in episode.spans) for episode in group)
    if most is not None and given >= most:
        return BadRow(
            table.where, row.number, f"a prompt of {given} tokens leaves no room for a reply", f"below {most}"
        )
    if most is not None and whole > most:
        return BadRow(table.where, row.number, f"{whole} tokens in all", f"at most {most}, the model's positions")
    return None


def _tokens(group: Group, learned: bool) -> list[int]:
    """Given, or learned, tokens of each episode."""
    return [sum(len(span.tokens) for span in one.spans if span.sampled == learned) for one in group]


def _written(group: Group, chat: Chat) -> Iterator[dict[str, Any]]:
    names = ("chosen", "rejected") if len(group) == 2 else ("row",)
    for name, episode in zip(names, group, strict=True):
        for span in episode.spans:
            yield _part(name, span.sampled, chat.decode_all(span.tokens))


def _gold(table: Table, reward: str | None) -> dict[str, Any] | None:
    """Whether the answers can be graded: by the reward that was named, else as mathematics if they look like it."""
    from guerdon.data.gold import fails_math, fails_reward, mathematical

    answered = [row for row in table.rows if row.answer is not None]
    if reward is not None:
        from guerdon.rewards.load import load_reward

        if not answered:
            raise UsageError(f"--reward tries the answers, but {table.where} has none; name their column")
        failed = fails_reward(answered, load_reward(reward))
    elif mathematical(answered):
        failed = fails_math(answered)
    else:
        return None
    return {"by": reward or "math", "tested": len(answered), "failed": [asdict(one) for one in failed]}


def _overlap(rows: Sequence[Row], against: str) -> dict[str, Any]:
    """Which rows hold too much of a prompt of the evaluation set."""
    from guerdon.data.contamination import THRESHOLD, N, overlap

    names, prompts = _evaluation(against)
    found = overlap([row.asked for row in rows], prompts)
    hits = [{"row": rows[h.train].number, "held": names[h.evaluation], "share": h.share} for h in found.hits]
    return {
        "against": against,
        "n": N,
        "threshold": THRESHOLD,
        "prompts": len(prompts),
        "matched": len(found.matched),
        "mean": found.mean,
        "hits": hits,
    }


def _evaluation(against: str) -> tuple[list[str], list[str]]:
    """(names, prompts) of an evaluation set: the rows of a file, or the held-out tasks of a set that is named."""
    from guerdon.tasks.files import EXTENSIONS

    name = against.partition("?")[0]
    if name.startswith("hub:") or Path(name).suffix.lower() in EXTENSIONS or Path(name).is_dir():
        wish, options = _told_in_name(Wish(against))
        table, _ = _table(wish, options["name"])
        return [f"row {row.number}" for row in table.rows], [row.asked for row in table.rows]
    from guerdon.data.row import Row
    from guerdon.tasks.base import each
    from guerdon.tasks.spec import load_tasks

    tasks = list(each(load_tasks(against).heldout))
    return [task.id for task in tasks], [Row(0, prompt=task.prompt).asked for task in tasks]


def _probe(table: Table, wish: Wish) -> list[dict[str, Any]]:
    """How well the model goes on with the first problems when it is given only their start."""
    import asyncio

    from guerdon.commands.policy import load_speaker
    from guerdon.data.probe import probe

    assert wish.model is not None
    rows = [row for row in table.rows if len(row.asked.split()) > 1][: wish.probe]
    speaker = load_speaker(wish.model, 0.0, None)
    how, right = speaker.how, _right(rows, wish.reward)
    asked = [row.asked for row in rows]
    found = asyncio.run(probe(asked, speaker.samplers["policy"], speaker.chat, right, stop_tokens=how.stop_tokens))
    return [asdict(one) for one in found]


def _right(rows: Sequence[Row], reward: str | None) -> Any:
    from guerdon.data.gold import judged
    from guerdon.rewards.load import load_reward
    from guerdon.tasks.rows import fitting_reward, task_of

    tasks = [task_of(row, "row") for row in rows]
    if any(row.answer is None for row in rows):
        return None
    by = fitting_reward(tasks) if reward is None else load_reward(reward)
    return lambda i, text: judged(rows[i], text, by)


def _problems(result: Mapping[str, Any], on_bad_rows: OnBadRows) -> list[str]:
    """What makes the check fail, a sentence each."""
    gold, overlap = result["gold"], result["overlap"]
    found = [
        (not result["usable"], "no row can be used"),
        (on_bad_rows == "error" and result["bad_rows"], f"bad rows: {len(result['bad_rows'])} of {result['rows']}"),
        (gold and gold["failed"], f"answers that are not graded as right: {len(gold['failed']) if gold else 0}"),
        (
            overlap and overlap["hits"],
            f"rows that hold what is evaluated on: {len({hit['row'] for hit in overlap['hits']}) if overlap else 0}",
        ),
    ]
    return [text for holds, text in found if holds]
