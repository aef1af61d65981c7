"""The command line: `guerdon train`, `compare`, `eval`, `sample`, `grade`, `report`, `methods`, `tasks`, `claim`, ...

Only what parses words is imported here; each command imports the rest when it runs.
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
from guerdon.keys import UsageError

app = typer.Typer(
    name="guerdon",
    help="Reinforcement learning of language models from any reward. Start with: guerdon train",
    add_completion=False,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object on the last line.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Temperature = Annotated[float | None, typer.Option(min=0.0, help="0 is greedy (default: as trained, or 1).")]
MaxNewTokens = Annotated[int | None, typer.Option(min=1, help="Longest completion (default: as trained, or 16).")]
Seed = Annotated[int, typer.Option(help="Seeds the samples.")]
Model = Annotated[str, typer.Argument(help="A run folder, tiny, smollm2-135m, a model folder, or a hub name.")]

Result = dict[str, Any]


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


data_app = typer.Typer(help="Look at data before it is trained on.", rich_markup_mode=None)
app.add_typer(data_app, name="data")


@data_app.command("check")
def data_check(
    file: Annotated[str, typer.Argument(help="A .jsonl, .json, .csv or .parquet file, or hub:NAME[:CONFIG][:SPLIT].")],
    model: Annotated[str | None, typer.Option(help="Show rows as this MODEL sees them, and count its tokens.")] = None,
    layout: Annotated[str | None, typer.Option(help="What the rows are, where their columns do not say.")] = None,
    column: Annotated[list[str] | None, typer.Option(help="FIELD=COLUMN, such as prompt=question; repeatable.")] = None,
    rows: Annotated[str | None, typer.Option(help="FIRST:LAST, a part of the rows: -100: is the last 100.")] = None,
    against: Annotated[str | None, typer.Option(help="An evaluation file or task set: find overlap with it.")] = None,
    reward: Annotated[str | None, typer.Option(help="Try each answer as the reply with this reward.")] = None,
    max_prompt_tokens: Annotated[int | None, typer.Option(min=1, help="A row with a longer prompt is bad.")] = None,
    on_bad_rows: Annotated[
        str | None, typer.Option(help="error (the default): fail if there are any; or skip.")
    ] = None,
    show: Annotated[int, typer.Option(min=0, help="Rows to show.")] = 1,
    probe: Annotated[int, typer.Option(min=0, help="See if MODEL knows the first N problems by heart.")] = 0,
    json: Json = False,
    debug: Debug = False,
) -> Result:
    """Say what a file of rows is understood as, and which rows are bad, repeated, too long or evaluated on."""
    from guerdon.commands.data import Wish, check

    wish = Wish(file, model, layout, column or (), rows, against, reward, max_prompt_tokens, on_bad_rows, show, probe)
    return check(wish)


@data_app.command(
    "make",
    context_settings={"ignore_unknown_options": True},
    add_help_option=False,
    options_metavar="--out FILE [--key value ...]",
)
def data_make(words: Annotated[list[str] | None, typer.Argument(metavar="KIND")] = None) -> Result | None:
    """Write labelled texts whose truth is known. `guerdon data make --help` lists the kinds."""
    from guerdon.commands.synthetic import make

    return make(words or [])


reward_app = typer.Typer(help="Train reward models, score with them, and measure them.", rich_markup_mode=None)
app.add_typer(reward_app, name="reward")

Rater = Annotated[str, typer.Argument(help="A reward model (run folder, folder, hub name), or a reward: gold:sums.")]
Head = Annotated[str | None, typer.Option(help="The head of a model that has several (default: its first).")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, ... (default: the GPU where there is one).")]


@reward_app.command(
    "train",
    context_settings={"ignore_unknown_options": True},
    add_help_option=False,
    options_metavar="[--method NAME] [--key value ...]",
)
def reward_train(words: Annotated[list[str] | None, typer.Argument(metavar="DATA")] = None) -> Result | None:
    """Train a reward model on DATA (bradley_terry unless --method names another): `guerdon train` for reward models."""
    from guerdon.commands.reward import train as run

    return run(words or [])


@reward_app.command("score")
def reward_score(
    model: Rater,
    file: Annotated[str, typer.Argument(help="Rows with completions, pairs, or solutions in steps.")],
    out: Annotated[
        str | None, typer.Option(help="The .jsonl or .parquet to write (default: FILE.scored.jsonl).")
    ] = None,
    name: Annotated[str, typer.Option(help="What the added columns are called, or begin with.")] = "score",
    head: Head = None,
    device: Device = None,
    json: Json = False,
    debug: Debug = False,
) -> Result:
    """Write the rows of FILE with their scores beside them."""
    from guerdon.commands.reward import ScoreWish, score

    return score(ScoreWish(model, file, out, name, head, device))


@reward_app.command("eval")
def reward_eval(
    model: Rater,
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Pairs, or rows of a public benchmark.")],
    bench: Annotated[
        str | None,
        typer.Option(
            help="rewardbench, rewardbench2, rm-bench, prmbench, processbench, steps, pairs (default: by columns), "
            "or best-of-n."
        ),
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option(help="Accuracy by the values of this column, too; repeatable.")
    ] = None,
    rewrites: Annotated[bool, typer.Option("--rewrites", help="Accuracy after rewording the pairs, too.")] = False,
    paraphrases: Annotated[list[str] | None, typer.Option(help="The same pairs in other words; repeatable.")] = None,
    other: Annotated[list[str] | None, typer.Option(help="A further model: do they choose alike; repeatable.")] = None,
    gold: Annotated[str | None, typer.Option(help="Of best-of-n: the column, or the reward, that is true.")] = None,
    threshold: Annotated[str, typer.Option(help="A step is right above it; or the subset it is chosen on.")] = "0.5",
    head: Head = None,
    device: Device = None,
    seed: Annotated[int, typer.Option(help="Seeds rewrites and intervals of best-of-n.")] = 0,
    page: Annotated[str | None, typer.Option(help="Of best-of-n: an HTML file to write the curve to.")] = None,
    json: Json = False,
    debug: Debug = False,
) -> Result:
    """Measure a reward model on held-out pairs or a public benchmark."""
    from guerdon.commands.reward import EvalWish, evaluate

    lists = (by or (), rewrites, paraphrases or (), other or ())
    return evaluate(EvalWish(model, files, bench, *lists, gold, threshold, head, device, seed, page))


@reward_app.command("curve")
def reward_curve(
    run: Annotated[str, typer.Argument(help="A run folder whose rewards include one of weight 0.")],
    proxy: Annotated[str | None, typer.Option(help="The reward it learned from (default: its first).")] = None,
    gold: Annotated[str | None, typer.Option(help="The reward that is true (default: its first of weight 0).")] = None,
    out: Annotated[str | None, typer.Option(help="The page to write (default: RUN/over_optimisation.html).")] = None,
    kl: Annotated[bool, typer.Option(help="Over the divergence from where it began; else over steps.")] = True,
    json: Json = False,
    debug: Debug = False,
) -> Result:
    """Say where a policy went on to please its reward model while the true reward fell."""
    from guerdon.commands.reward import CurveWish, curve

    return curve(CurveWish(run, proxy, gold, out, kl))


model_app = typer.Typer(help="Look at a model before it is trained, or make one of several.", rich_markup_mode=None)
app.add_typer(model_app, name="model")


@model_app.command("check")
def model_check(
    model: Model,
    end_token: Annotated[str | None, typer.Option(help="The end token of a tokenizer that names none.")] = None,
    json: Json = False,
    debug: Debug = False,
) -> Result:
    """Say what a model's chat template does with conversations, and whether it can be trained with it."""
    from guerdon.commands.model import check

    return check(model, end_token)


@model_app.command("average")
def model_average(
    models: Annotated[list[str], typer.Argument(help="Run or model folders, all trained from one start.")],
    out: Annotated[str, typer.Option(help="The folder to write.")],
    weights: Annotated[str | None, typer.Option(help="Such as 0.5,0.3,0.2 (default: all equal).")] = None,
    data: Annotated[str | None, typer.Option(help="Pairs to compare members, their mean and the average on.")] = None,
    json: Json = False,
    debug: Debug = False,
) -> Result:
    """Average the weights of several models, reward models above all, into one."""
    from guerdon.commands.average import average

    return average(models, out, weights, data)


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
