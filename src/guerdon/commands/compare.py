"""`guerdon compare`: methods against each other at equal budget, over seeds."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from guerdon.commands.output import Failed, emit, say
from guerdon.files import write_whole
from guerdon.keys import REQUIRED, Key, UsageError, check_complete, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from guerdon.compare.base import Comparison
    from guerdon.compare.crew import Hear, Word
    from guerdon.compare.jobs import Job
    from guerdon.compare.results import Found

CONTROLS = {
    key.name: key
    for key in (
        Key(
            "budget",
            int,
            False,
            REQUIRED,
            "sampled tokens of each arm on each seed; it stops with the step that reaches them",
        ),
        Key("seeds", int, False, 5, "runs of each arm; seed by seed, arms get the same tasks in the same order"),
        Key("out", Path, True, None, "folder of the comparison (default: comparisons/METHODS-n)"),
        Key("items", int, False, 100, "held-out tasks to evaluate on, at most"),
        Key("decodes", int, False, 32, "completions of each at the end"),
        Key("on_the_way", int, False, 8, "completions of each at every look on the way"),
        Key("points", int, False, 8, "looks at each arm, at equal distances of tokens"),
        Key("workers", int, True, None, "processes (default: one per core for small models, else one; 0: in this one)"),
        Key("quiet", bool, False, False, "show no progress"),
        Key("json", bool, False, False, "print the result as one JSON object on the last line"),
        Key("debug", bool, False, False, "show the traceback of an error"),
    )
}
"""Keys of the command; those of the options that arms share are beside them."""

WHERE = "guerdon compare --help"
NUMBERS = ("points", "items", "decodes", "on_the_way")


def compare(words: Sequence[str]) -> dict[str, Any] | None:
    """Run `guerdon compare` with these words, print what came out, and return it."""
    from guerdon.compare.base import Comparison, read_arm, shared_keys

    if "--help" in words or "-h" in words or not words:
        show_help()
        return None
    methods, given = _read(words, {**shared_keys(), **CONTROLS})
    controls = {name: given.pop(name, key.default) for name, key in CONTROLS.items()}
    if controls["seeds"] < 1:
        raise UsageError(f"--seeds is {controls['seeds']}; expected at least 1")
    numbers = {name: controls[name] for name in NUMBERS}
    comparison = Comparison(tuple(map(read_arm, methods)), controls["budget"], given, **numbers)
    for arm in comparison.arms:  # what is wrong with an arm is told before anything starts
        comparison.run(arm, 0)
    folder = controls["out"] or _fresh(methods)
    return _carry_out(comparison, controls, folder, shlex.join(["guerdon", "compare", *_with_folder(words, folder)]))


def _read(words: Sequence[str], keys: dict[str, Key]) -> tuple[list[str], dict[str, Any]]:
    first = next((i for i, word in enumerate(words) if word.startswith("--")), len(words))
    methods, given = list(words[:first]), parse(keys, words[first:], WHERE)
    if not methods:
        raise UsageError(
            f"no method is named; expected some before the keys, as in: guerdon compare grpo rloo. {WHERE}"
        )
    check_complete(keys, given, WHERE)
    return methods, given


def _fresh(methods: Sequence[str]) -> Path:
    from guerdon.run import fresh_folder

    names = [Path(method.partition("?")[0].rpartition(":")[2]).name for method in methods]
    return fresh_folder("-".join(names), Path("comparisons"))


def _with_folder(words: Sequence[str], folder: Path) -> list[str]:
    """The words of a command that goes on in the folder."""
    return list(words) if any(word.partition("=")[0] == "--out" for word in words) else [*words, "--out", str(folder)]


def _carry_out(comparison: Comparison, controls: dict[str, Any], folder: Path, command: str) -> dict[str, Any]:
    from guerdon import lock
    from guerdon.commands.policy import quieten
    from guerdon.compare import crew, jobs, results

    quieten()
    _settle(folder, comparison)
    with lock.alone(folder):
        all_jobs = list(jobs.jobs_of(comparison, controls["seeds"]))
        left = [job for job in all_jobs if jobs.result_of(folder, comparison, job) is None]
        workers = crew.workers_for(comparison, len(left)) if controls["workers"] is None else controls["workers"]
        shown = _Shown(comparison, folder, all_jobs, left, controls["quiet"])
        with shown.hearing() as hear:
            team = crew.Crew(comparison, folder, hear, workers)
            try:
                team.work(left)
            except KeyboardInterrupt:
                raise Failed(f"stopped at once; the same command goes on: {command}", "Interrupted", 130) from None
        found = results.read(folder, comparison)
        told = {"folder": str(folder), "report": None} if found is None else _tell(found, folder, command)
    if team.stopping:
        message = f"interrupted; what is done is kept, and the same command goes on: {command}"
        raise Failed(message, "Interrupted", 130, **told)
    if shown.failed:
        failed = f"{len(shown.failed)} of {len(all_jobs)} runs failed, such as {shown.failed[0]}"
        message = f"{failed}; the same command tries them again: {command}"
        raise Failed(message, "RunFailed", 1, **told)
    return told


def _settle(folder: Path, comparison: Comparison) -> None:
    """Write what is compared into the folder; ValueError when it holds a comparison of other settings."""
    from guerdon.run import FolderTaken

    path = folder / "comparison.json"
    wanted = json.loads(json.dumps(comparison.as_dict(), default=str))
    if path.is_file():
        before = json.loads(path.read_text(encoding="utf-8"))
        differing = [name for name in wanted if name != "arms" and before.get(name) != wanted[name]]
        if differing:
            name = differing[0]
            raise ValueError(
                f"{folder} holds a comparison with {name} {before.get(name)!r}; found {wanted[name]!r}. "
                "Give it the same, or choose another --out"
            )
    elif folder.exists() and any(folder.iterdir()):
        raise FolderTaken(f"{folder} is not empty and holds no comparison; choose another --out")
    write_whole(path, json.dumps(wanted, indent=1) + "\n")


@dataclass
class _Shown:
    """What people see of a comparison in progress."""

    comparison: Comparison
    folder: Path
    jobs: list[Job]
    left: list[Job]
    quiet: bool
    failed: list[str] = field(default_factory=list)
    _spent: dict[Job, int] = field(default_factory=dict)
    _began: float = field(default_factory=monotonic)
    _ended: int = 0

    @contextmanager
    def hearing(self) -> Iterator[Hear]:
        """Lines where there is no terminal; a bar with what is run now where there is one."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(file=sys.stderr, highlight=False)
        done = len(self.jobs) - len(self.left)
        if not self.quiet:
            say(f"{len(self.left)} runs to do, {done} done before, in {self.folder}")
        if self.quiet or not console.is_terminal:
            yield self._hear
            return
        columns = (
            BarColumn(),
            TextColumn("{task.percentage:.0f}%"),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
        )
        with Progress(*columns, console=console, transient=True) as bars:
            bar = bars.add_task("starting", total=self.comparison.budget * len(self.left))

            def hear(word: Word) -> None:
                self._hear(word)
                now = ", ".join(f"{job} {spent / self.comparison.budget:.0%}" for job, spent in self._spent.items())
                total = self._ended * self.comparison.budget + sum(self._spent.values())
                bars.update(bar, completed=total, description=now)

            yield hear

    def _hear(self, word: Word) -> None:
        if word.kind in ("began", "spent"):
            self._spent[word.job] = min(word.spent, self.comparison.budget)
            return
        self._spent.pop(word.job, None)
        self._ended += 1
        if word.kind == "failed":
            self.failed.append(f"{word.job}: {word.error}")
            say(f"{word.job} failed: {word.error}", "yellow")
        elif word.kind == "stopped" and not self.quiet:
            say(f"{word.job}: stopped, and saved")
        elif not self.quiet:
            when = f"{self._ended} of {len(self.left)}, {monotonic() - self._began:.0f} s"
            say(f"{word.job}: {self._said(word.job)} ({when})")

    def _said(self, job: Job) -> str:
        from guerdon.compare.jobs import result_of

        found = result_of(self.folder, self.comparison, job) or {}
        words = f"accuracy {found['evaluation']['figures']['accuracy']:.3f}"
        if "used" not in found:
            return words
        early = "" if found["ended"] == "budget" else f"; it ended early: {found['ended']}"
        return f"{words} after {found['used']['sampled_tokens']:,} tokens{early}"


def _tell(found: Found, folder: Path, command: str) -> dict[str, Any]:
    """Print the tables, write page and record, and return the record."""
    from guerdon.claims.record import commit
    from guerdon.compare.page import render
    from guerdon.compare.results import as_record
    from guerdon.run import hardware, versions

    show(found)
    page, record = folder / "report.html", folder / "compare.json"
    told = {**as_record(found, folder), "protocol": found.comparison.protocol.as_dict(), "command": command}
    told |= {"commit": commit(), "versions": versions(), "hardware": hardware()}
    told |= {"folder": str(folder), "report": str(page)}
    page.write_text(render(found, folder, command), encoding="utf-8")
    with record.open("w", encoding="utf-8") as out:
        emit(told, out)
    say(f"The report is {page}, the figures are in {record}.")
    return told


def show(found: Found) -> None:
    """The tables of a comparison, on standard output: figures by arm with differences, and what each arm used."""
    from rich.console import Console

    from guerdon.compare.page import in_words

    console, c = Console(highlight=False), found.comparison
    seeds = f"{len(found.seeds)} seed{'s' * (len(found.seeds) != 1)}"
    console.print(f"{c.options.tasks}, {c.options.model}: {c.budget:,} sampled tokens per arm, {seeds}", markup=False)
    console.print(_figures(found))
    for line in in_words(found):
        console.print(line, markup=False, soft_wrap=True)
    console.print(_used(found))
    for arm in c.arms:
        for seed, why in found.early(arm).items():
            console.print(f"{arm.spec}, seed {seed}: ended before its budget: {why}", style="yellow", markup=False)


def _figures(found: Found) -> Any:
    from rich.table import Table
    from rich.text import Text

    from guerdon.compare.page import estimate, number

    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("", "arm", "mean (95% interval)", f"less {found.first.spec} (95% interval)"):
        table.add_column(Text(column), no_wrap=True)
    for metric in found.telling:
        start = found.start["evaluation"]["figures"].get(metric)
        table.add_row(metric, "start", "" if start is None else number(start), style="dim")
        for place, arm in enumerate(found.comparison.arms):
            difference = estimate(found.difference(arm, metric), signed=True) if place else ""
            table.add_row("", Text(arm.spec), estimate(found.mean(arm, metric)), difference)
    return table


def _used(found: Found) -> Any:
    from rich.table import Table
    from rich.text import Text

    used = {arm.spec: found.used(arm) for arm in found.comparison.arms}
    names = list(next(iter(used.values())))
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("used per seed", *names):
        table.add_column(Text("over the budget" if name == "excess" else name.replace("_", " ")))
    for spec, one in used.items():
        table.add_row(Text(spec), *(f"{one[name]:,.0f}" for name in names))
    return table


def show_help() -> None:
    """What can be compared, and with which keys."""
    from rich.console import Console
    from rich.text import Text

    from guerdon.commands.help import key_table
    from guerdon.compare.base import shared_keys
    from guerdon.recipes import rollout_recipes

    console = Console(highlight=False)
    console.print(Text("Usage: guerdon compare METHOD METHOD ... --budget TOKENS [--key value ...]\n", style="bold"))
    able = ", ".join(rollout_recipes())
    console.print(Text(f"METHOD is one of {able}, or path/to/file.py:function, with settings of its own as in"))
    console.print(
        Text("'grpo?clip_high=0.28&lr=1e-4'. All arms begin with the same weights and get the same tasks in the")
    )
    console.print(Text("same order, the same decoding limits, evaluation and number of sampled tokens.\n"))
    for title, keys in (("Command", CONTROLS), ("Keys for all arms", shared_keys())):
        console.print(Text(title, style="bold"))
        console.print(key_table(dict(keys)))
