"""The command line: `guerdon train`, `compare`, `eval`, `sample`, `grade`, `report`, `methods`, `tasks`, `claim`, ...

Only what parses words is imported here; each command imports the rest when it runs. Commands in groups (`guerdon data
check`) are in `commands/groups.py`.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

import guerdon
from guerdon import deferred
from guerdon.commands import output
from guerdon.commands.groups import GROUPS
from guerdon.commands.options import Debug, Json, MaxNewTokens, Model, Result, Seed, Temperature
from guerdon.keys import UsageError

app = typer.Typer(
    name="guerdon",
    help="Reinforcement learning of language models from any reward. Start with: guerdon train",
    add_completion=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(guerdon.__version__)
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    return None


@app.command(
    context_settings={"ignore_unknown_options": True},
    add_help_option=False,
    options_metavar="[--key value ...]",
)
def train(words: Annotated[list[str] | None, typer.Argument(metavar="[NAME]")] = None) -> Result | None:
    """Train a policy with a recipe (grpo unless named). `guerdon train NAME --help` lists its keys."""
    from guerdon.commands.train import train as run

    return run(words or [])


@app.command("eval")
def evaluate(
    model: Model,
    tasks: Annotated[
        str | None, typer.Option(help="What to solve (default: what a run was trained on, or arithmetic).")
    ] = None,
    reward: Annotated[
        str | None, typer.Option(help="exact, numeric or file.py:function (default: the tasks' own).")
    ] = None,
    samples: Annotated[int, typer.Option("--samples", "-n", min=1, help="Completions per task.")] = 1,
    k: Annotated[str, typer.Option(help="Which pass@k to estimate, such as 1,2,4 (default: 1 and --samples).")] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="Use the first N held-out tasks only.")] = None,
    temperature: Temperature = None,
    max_new_tokens: MaxNewTokens = None,
    json: Json = False,
    debug: Debug = False,
) -> Result:
    """Measure a policy on held-out tasks: accuracy and pass@k, each with its interval."""
    from guerdon.commands.evaluate import evaluate as run

    return run(model, tasks, reward, samples, k, limit, temperature, max_new_tokens)


@app.command()
def sample(
    model: Model,
    prompt: Annotated[
        str | None, typer.Argument(help="What to say to it; read from standard input if left out.")
    ] = None,
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="Completions.")] = 1,
    temperature: Temperature = None,
    max_new_tokens: MaxNewTokens = None,
    seed: Seed = 0,
    json: Json = False,
    debug: Debug = False,
) -> Result:
    """Try a prompt on a policy."""
    from guerdon.commands.sample import sample as run

    return run(model, prompt, n, temperature, max_new_tokens, seed)


@app.command()
def grade(
    kind: Annotated[str, typer.Argument(help="math, code, instructions, text, or any reward by name.")],
    gold: Annotated[
        list[str], typer.Option(help="What is right; more than once for alternatives. JSON for code and instructions.")
    ],
    text: Annotated[str, typer.Option(help="What a policy said. @FILE, here and for --gold: what is in the file.")],
    unsafe_local_code: Annotated[bool, typer.Option(help="Run code without isolation where there is none.")] = False,
    json: Json = False,
    debug: Debug = False,
) -> Result:
    """Try a grader: the verdict on one text, the answer that was read, and the reason."""
    from guerdon.commands.grade import grade as run

    return run(kind, gold, text, unsafe_local_code)


@app.command()
def report(
    run: Annotated[str, typer.Argument(help="A run folder.")], json: Json = False, debug: Debug = False
) -> Result:
    """Write a run's report.html anew."""
    from guerdon.commands.report import report as write

    return write(run)


@app.command()
def methods(json: Json = False, debug: Debug = False) -> Result:
    """List the methods there are, from their cards."""
    from guerdon.commands.listing import methods as run

    return run(claims=json)


@app.command()
def tasks(json: Json = False, debug: Debug = False) -> Result:
    """List the task sets there are."""
    from guerdon.commands.listing import tasks as run

    return run()


@app.command()
def claim(
    slug: Annotated[str, typer.Argument(help="A method; guerdon methods lists them.")],
    seeds: Annotated[
        int | None, typer.Option(min=2, help="Seeds per arm (default: the claim's own, at least 5).")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="At a fraction of the size, to see it run.")] = False,
    keep: Annotated[bool, typer.Option(help="Write the record beside the claim.")] = False,
    json: Json = False,
    debug: Debug = False,
) -> Result:
    """Run the laptop-scale experiment behind a method's claim, against its baseline at equal budget."""
    from guerdon.commands.claim import claim as run

    return run(slug, seeds, quick, keep)


@app.command(
    context_settings={"ignore_unknown_options": True},
    add_help_option=False,
    options_metavar="--budget TOKENS [--key value ...]",
)
def compare(words: Annotated[list[str] | None, typer.Argument(metavar="METHOD...")] = None) -> Result | None:
    """Compare methods at equal budget of sampled tokens, over seeds. `guerdon compare --help` lists its keys."""
    from guerdon.commands.compare import compare as run

    return run(words or [])


@app.command()
def doctor(json: Json = False, debug: Debug = False) -> Result:
    """Say what is installed, what is missing for which feature, and the command that mends it."""
    from guerdon.commands.doctor import doctor as run

    return run()


for _name, _group in GROUPS.items():
    app.add_typer(_group, name=_name)


def main(words: Sequence[str] | None = None) -> None:
    """The program: run a command, and leave with its exit status."""
    # Threads that spin while they wait make a busy machine thirty times slower; read once, when torch is loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    deferred.defer("torch")
    # Libraries telling each other what they will rename is nothing that a user could act on.
    warnings.simplefilter("ignore", FutureWarning)
    warnings.showwarning = output.note
    sys.exit(run(sys.argv[1:] if words is None else words))


def run(words: Sequence[str]) -> int:
    """Run a command and return its exit status: 0 done, 1 failed, 2 wrong words, 130 interrupted.

    With --json everything else that is printed goes to standard error, so that the result is the last line.
    """
    words = words or ["--help"]
    as_json, debug, out = _asked(words, "json"), _asked(words, "debug"), sys.stdout
    try:
        with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
            result = app(list(words), standalone_mode=False)
        if result == 130:  # how typer reports Ctrl-C
            raise KeyboardInterrupt
        if as_json and isinstance(result, dict):
            output.emit(result, out)
        return result if isinstance(result, int) else 0
    except (typer.Abort, KeyboardInterrupt):
        return output.report(KeyboardInterrupt(), debug, as_json, out)
    except _CLICK as error:
        return output.report(UsageError(error.format_message()), debug, as_json, out)
    except Exception as error:
        return output.report(error, debug, as_json, out)


def _asked(words: Sequence[str], name: str) -> bool:
    """Whether a switch is on, looked up before anything is parsed, so that errors of parsing know it too."""
    found = [word.partition("=")[2].lower() for word in words if word.partition("=")[0] == f"--{name}"]
    return bool(found) and found[-1] not in ("false", "no", "off", "0")


_CLICK: Any = next(kind for kind in reversed(typer.BadParameter.__mro__) if hasattr(kind, "format_message"))
"""The parser's own errors; typer does not name their base class."""
