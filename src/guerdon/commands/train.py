"""`guerdon train`: words -> recipe -> run -> a folder with everything in it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.commands.output import Failed, say
from guerdon.commands.policy import quieten
from guerdon.keys import Key, UsageError, check_complete, keys_of, parse

if TYPE_CHECKING:
    from guerdon.run import Run

CONTROLS = {
    key.name: key
    for key in (
        Key("out", Path, True, None, "the run folder (default: runs/NAME-1, or the next free number)"),
        Key("resume", Path, True, None, "go on with a run from its last checkpoint (default: the latest in runs/)"),
        Key("dry_run", bool, False, False, "say what would be done, how much memory and time it takes; start nothing"),
        Key("json", bool, False, False, "print the result as one JSON object on the last line"),
        Key("quiet", bool, False, False, "show no progress"),
        Key("debug", bool, False, False, "show the traceback of an error"),
    )
}
"""Keys of the command itself, beside those of the recipe."""


@dataclass(frozen=True)
class Wish:
    """What was asked for. name: None where no recipe was named. resume: False, True (the latest), or a folder."""

    name: str | None
    words: list[str]
    """The recipe's own words."""
    controls: dict[str, Any]
    resume: bool | Path
    help: bool

    @property
    def folder(self) -> Path | None:
        return self.resume if isinstance(self.resume, Path) else self.controls.get("out")


def train(words: Sequence[str]) -> dict[str, Any] | None:
    """Do what the words say; the result is what `--json` prints."""
    wish = read(words)
    if wish.help:
        from guerdon.commands.help import show_recipe

        show_recipe(wish.name)
        return None
    from guerdon.run import fresh_folder

    if wish.resume:
        name, arguments, folder = _continued(wish)
    else:
        name = wish.name or "grpo"
        arguments = _arguments(name, wish.words)
        folder = wish.folder or fresh_folder(Path(name.rpartition(":")[2]).name)
    from guerdon.recipes import make_run

    run = make_run(name, arguments)
    _say_what_tiny_is_for(run)
    if wish.controls.get("dry_run"):
        from guerdon.plan import plan, show

        found = plan(run)
        show(found)
        return found.as_dict()
    return _execute(run, folder, bool(wish.resume), quiet=bool(wish.controls.get("quiet")))


def _say_what_tiny_is_for(run: Run) -> None:
    """The tiny policy reads no language; whoever gives it other tasks than those it was made for should know."""
    from guerdon.tasks.builtin import STRINGS

    if not run.tasks or run.options.model != "tiny":
        return
    known, given = ("arithmetic", "near", *STRINGS), run.options.tasks.partition("?")[0]
    if given not in known:
        say(
            f"note: tiny was only taught sums and the rework of words ({', '.join(known)}) and may never get "
            f"{given} right; for tasks in language: --model smollm2-135m, or a model of yours",
            "yellow",
        )


def read(words: Sequence[str]) -> Wish:
    """Take the command's own keys out of the words; what is left is the recipe's name and its keys."""
    left, rest, controls = list(words), [], {}
    name: str | None = None
    resume: bool | Path = False
    wants_help = False
    if left and not left[0].startswith("-"):
        name = left.pop(0)
    while left:
        word = left.pop(0)
        flag = word.partition("=")[0][2:].replace("-", "_") if word.startswith("--") else ""
        if word in ("--help", "-h"):
            wants_help = True
        elif word == "--resume":
            resume = Path(left.pop(0)) if left and not left[0].startswith("--") else True
        elif flag in CONTROLS:
            takes = [word] if "=" in word or CONTROLS[flag].kind is bool else [word, *left[:1]]
            del left[: len(takes) - 1]
            given = parse(CONTROLS, takes, "guerdon train --help")
            resume = given.pop("resume", resume)
            controls.update(given)
        else:
            rest.append(word)
            if flag and left and "=" not in word and not left[0].startswith("--"):
                rest.append(left.pop(0))
    return Wish(name, rest, controls, resume, wants_help)


def _arguments(name: str, words: Sequence[str], given: dict[str, Any] | None = None) -> dict[str, Any]:
    """The recipe's arguments: those given before, then what the words say. UsageError for what it does not take."""
    from guerdon.recipes import find_recipe

    where = f"guerdon train {name} --help"
    keys = keys_of(find_recipe(name))
    taken = keys.keys() & CONTROLS.keys()
    if taken:
        raise ValueError(f"{name} has parameters {sorted(taken)}, which are keys of the command itself; rename them")
    arguments = {**(given or {}), **parse(keys, words, where)}
    check_complete(keys, arguments, where)
    return arguments


def _continued(wish: Wish) -> tuple[str, dict[str, Any], Path]:
    """Recipe, arguments and folder of the run to go on with."""
    from guerdon.run import RunFolder

    if wish.controls.get("out"):
        raise UsageError("--out names a new run, and --resume goes on in the run's own folder; leave one of them out")
    folder = wish.folder or _latest()
    record = RunFolder(folder).read()
    name = str(record.get("recipe") or "")
    if not name:
        raise ValueError(f"{folder} was not made by a recipe, so it cannot be made again; resume it from Python")
    if wish.name not in (None, name):
        raise UsageError(f"{folder} is a run of {name}; found {wish.name} beside --resume. Leave the name out")
    return name, _arguments(name, wish.words, record["arguments"]), folder


def _latest(root: Path = Path("runs")) -> Path:
    """The run in `runs/` that was written to last."""
    found = [record.parent for record in root.glob("*/run.json")]
    if not found:
        raise ValueError(f"there is no run in {root.absolute()} to go on with; name one: --resume RUN")
    return max(found, key=lambda folder: max(path.stat().st_mtime for path in folder.iterdir()))


def _execute(run: Run, out: Path, resume: bool, quiet: bool) -> dict[str, Any]:
    from guerdon.display import show_progress
    from guerdon.lock import FolderBusy
    from guerdon.report import write_report
    from guerdon.run import FolderTaken
    from guerdon.runner import execute

    quieten()
    go_on = f"guerdon train --resume {shlex.quote(str(out))}"
    try:
        with show_progress(quiet) as sink:
            outcome = execute(run, out, resume=resume, sinks=[sink])
    except KeyboardInterrupt:
        if not (out / "run.json").exists():
            raise
        message = f"stopped at once; go on from the last checkpoint with: {go_on}"
        raise Failed(message, "Interrupted", 130, run=str(out)) from None
    except (FolderTaken, FolderBusy):  # somebody else's folder
        raise
    except Exception:
        with suppress(Exception):  # the page is a help for finding out; the error itself is what counts
            write_report(out)
        raise
    page = write_report(out)
    if outcome.state == "interrupted":
        message = f"interrupted after step {outcome.step} of {run.options.steps}, and saved. Go on with: {go_on}"
        raise Failed(message, "Interrupted", 130, **outcome.summary)
    if not quiet:
        _say_what_came(run, out, page, outcome.summary)
    return outcome.summary


def _say_what_came(run: Run, out: Path, page: Path, summary: dict[str, Any]) -> None:
    from guerdon.display import next_steps, of_a_reward_model, show_summary
    from guerdon.report import heldout, paired
    from guerdon.run import RunFolder

    before, after = heldout(RunFolder(out))
    prompt = before[0][0].task.prompt if before else None
    short = prompt if isinstance(prompt, str) and len(prompt) < 60 and "\n" not in prompt else "Hello"
    where = shlex.quote(str(out))
    further = of_a_reward_model(where) if run.method.scores else next_steps(where, short)
    show_summary(summary, paired(before, after), page, further)
