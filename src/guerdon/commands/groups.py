"""Commands of one subject, under one name: `guerdon data`, `guerdon reward`, `guerdon model`.

As in `guerdon.cli`, only what parses words is imported here.
"""

from __future__ import annotations

from typing import Annotated

import typer

from guerdon.commands.options import Debug, Json, Model, Result

data_app = typer.Typer(help="Look at data before it is trained on.", rich_markup_mode=None)


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


GROUPS = {"data": data_app, "reward": reward_app, "model": model_app}
"""The groups by the name that stands before their commands."""
