"""`guerdon reward`: train a reward model, let it score a file, and measure it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.commands.output import say
from guerdon.keys import UsageError

if TYPE_CHECKING:
    from guerdon.evaluation.reward_models.raters import Rater
    from guerdon.evaluation.reward_models.robustness import Reworded
    from guerdon.tasks.files import Numbered

METHOD = "bradley_terry"
"""The recipe where none is named."""


def train(words: Sequence[str]) -> dict[str, Any] | None:
    """`guerdon train METHOD --data DATA ...` for the recipes of reward models."""
    from guerdon.commands.train import train as run

    left = list(words)
    method = _taken(left, "--method") or METHOD
    _check_method(method)
    data = [left.pop(0)] if left and not left[0].startswith("-") else []
    if any(word.partition("=")[0] == "--resume" for word in left):
        return run([*data, *left])
    return run([method, *(word for file in data for word in ("--data", file)), *left])


def _check_method(method: str) -> None:
    from guerdon.recipes.catalog import catalog

    known = [name for entry in catalog() if entry.card.family == "reward" for name in entry.constructors]
    if ":" not in method and method.replace("-", "_") not in known:
        raise UsageError(f"--method is {method!r}; expected a recipe of reward models: {', '.join(known)}")


def _taken(words: list[str], flag: str) -> str | None:
    """The value of a flag, which is taken out of the words."""
    for i, word in enumerate(words):
        if word.partition("=")[0] == flag:
            value = word.partition("=")[2] or (words[i + 1] if i + 1 < len(words) else "")
            del words[i : i + 1 if "=" in word else i + 2]
            if not value:
                raise UsageError(f"{flag} has no value")
            return value
    return None


@dataclass(frozen=True)
class ScoreWish:
    """What was asked of `guerdon reward score`. name: of the columns that are added."""

    model: str
    file: str
    out: str | None = None
    name: str = "score"
    head: str | None = None
    device: str | None = None


def score(wish: ScoreWish) -> dict[str, Any]:
    """Write the rows of FILE with their scores beside them, and return what was written."""
    from guerdon.commands.policy import quieten
    from guerdon.evaluation.reward_models.raters import load_rater
    from guerdon.evaluation.reward_models.scored import columns_of, scored

    quieten()
    stored, where, options = _stored(wish.file)
    out = Path(wish.out) if wish.out else Path(where).with_suffix(".scored.jsonl")
    added = columns_of(stored, where, wish.name, options)
    if out.suffix not in (".jsonl", ".parquet"):
        raise UsageError(f"--out is {str(out)!r}; expected a name that ends in .jsonl or .parquet")
    rater = load_rater(wish.model, wish.head, wish.device)
    say(f"{len(stored)} rows of {where}, scored by {rater.name} ...")
    rows = scored(stored, where, rater, wish.name, options)
    _write(rows, out)
    print(f"{out}: {len(rows)} rows with {', '.join(added)}")
    _tell_faults(rater)
    return {"model": wish.model, "file": wish.file, "out": str(out), "rows": len(rows), "columns": added} | _faults(
        rater
    )


def _write(rows: Sequence[dict[str, Any]], out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(list(rows)), out)
        return
    text = "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)
    out.write_text(text, encoding="utf-8", newline="\n")


@dataclass(frozen=True)
class EvalWish:
    """What was asked of `guerdon reward eval`."""

    model: str
    files: Sequence[str]
    bench: str | None = None
    by: Sequence[str] = ()
    rewrites: bool = False
    paraphrases: Sequence[str] = ()
    others: Sequence[str] = ()
    gold: str | None = None
    threshold: str = "0.5"
    head: str | None = None
    device: str | None = None
    seed: int = 0
    page: str | None = None


@dataclass(frozen=True)
class _Part:
    """Rows of one benchmark, of one file or of several."""

    bench: str
    files: list[str] = field(default_factory=list)
    rows: list[Any] = field(default_factory=list)


def evaluate(wish: EvalWish) -> dict[str, Any]:
    """Measure MODEL on the files, print the numbers, and return them."""
    from guerdon.commands.policy import quieten
    from guerdon.evaluation.reward_models.raters import load_rater

    quieten()
    parts = _parts(wish)
    rater = load_rater(wish.model, wish.head, wish.device)
    others = [load_rater(name, None, wish.device) for name in wish.others]
    reports = [_report(part, rater, others, wish) for part in parts]
    for rated in (rater, *others):
        _tell_faults(rated)
    return {"model": wish.model, "reports": reports} | _faults(rater)


def _parts(wish: EvalWish) -> list[_Part]:
    """The files as rows, before any model is loaded. Those of one public benchmark belong together."""
    from guerdon.evaluation.reward_models import bench, samples

    named = None if wish.bench is None else bench.check_name(wish.bench)
    parts: list[_Part] = []
    for file in wish.files:
        stored, where, options = _stored(file)
        name = named or bench.recognise(stored, where)
        if name == bench.SAMPLES:
            found: list[Any] = samples.read(stored, where, _gold_column(stored, wish.gold))
        else:
            found = bench.read(name, stored, where, **(options if name == "pairs" else {}))
        same = next((part for part in parts if part.bench == name != "pairs"), None)
        if same is None:
            parts.append(same := _Part(name))
        same.files.append(file)
        same.rows.extend(found)
    return parts


def _gold_column(stored: Sequence[Numbered], gold: str | None) -> str | None:
    """The column that --gold names, None where it names a reward."""
    if gold is None:
        raise UsageError("--bench best-of-n needs --gold: a column of the file, or a reward such as gold:sums")
    return gold if any(gold in one.row for one in stored) else None


def _report(part: _Part, rater: Rater, others: Sequence[Rater], wish: EvalWish) -> dict[str, Any]:
    from guerdon.commands.reward_words import show
    from guerdon.evaluation.reward_models import bench, samples

    say(f"{len(part.rows)} rows of {part.bench} ({', '.join(part.files)}), by {rater.name} ...")
    if part.bench == bench.SAMPLES:
        from guerdon.rewards.load import load_reward

        asked = None if part.rows[0].gold is not None else _gold(load_reward(str(wish.gold)))
        report = samples.evaluate(part.rows, rater.lists, asked, wish.seed)
    else:
        settings = bench.Settings(wish.by, _threshold(wish.threshold))
        report = bench.evaluate(part.bench, part.rows, rater, settings)
    found: dict[str, Any] = {**report.as_dict(), "bench": part.bench, "files": part.files}
    if others:
        found["agreement"] = _agreement(part, [rater, *others])
    if wish.rewrites or wish.paraphrases:
        found["robustness"] = _robustness(part, rater, wish)
    show(report, found)
    if wish.page is not None and part.bench == bench.SAMPLES:
        _write_page(found, wish.page, rater.name)
    return found


def _gold(reward: Any) -> Any:
    from guerdon.evaluation.reward_models.raters import reward_rater

    return reward_rater(reward).lists


def _threshold(text: str) -> float | str:
    try:
        number = float(text)
    except ValueError:
        return text
    if not 0 <= number <= 1:
        raise UsageError(f"--threshold is {text}; expected 0 to 1, or the subset on which it is to be chosen")
    return number


def _agreement(part: _Part, raters: Sequence[Rater]) -> list[dict[str, Any]]:
    from guerdon.evaluation.reward_models import agreement, bench

    items = bench.of_two(part.bench, part.rows)
    return agreement.between({rater.name: agreement.choices(rater.lists(items)) for rater in raters})


def _robustness(part: _Part, rater: Rater, wish: EvalWish) -> dict[str, Any]:
    from guerdon.data.rewrites.catalog import REWRITES
    from guerdon.evaluation.reward_models import bench, robustness

    items = bench.of_two(part.bench, part.rows)
    reworded: list[Reworded] = []
    if wish.rewrites:
        reworded += [robustness.apply(rewrite, items, wish.seed) for rewrite in REWRITES.values()]
    for file in wish.paraphrases:
        stored, where, _ = _stored(file)
        others = bench.of_two(part.bench, bench.read(part.bench, stored, where))
        reworded.append(robustness.given(Path(where).stem, items, others))
    return robustness.robustness(items, rater.lists, reworded).as_dict()


def _write_page(found: dict[str, Any], file: str, model: str) -> None:
    from guerdon.evaluation.intervals import Interval
    from guerdon.evaluation.reward_models.over_optimisation import page

    rows = [(one["kl"], Interval(**one["proxy"]), Interval(**one["gold"])) for one in found["points"]]
    words = [f"{found['prompts']} prompts; gold is highest at n = {found['peak']['n']}."]
    text = page(f"Best of n by {model}", rows, "KL to the policy, nats (at most)", words)
    Path(file).write_text(text, encoding="utf-8")
    say(f"curve: {file}")


@dataclass(frozen=True)
class CurveWish:
    """What was asked of `guerdon reward curve`."""

    run: str
    proxy: str | None = None
    gold: str | None = None
    out: str | None = None
    kl: bool = True


def curve(wish: CurveWish) -> dict[str, Any]:
    """Proxy against gold over a run, as a table and a page; returns the numbers."""
    from guerdon.commands.policy import quieten
    from guerdon.commands.reward_words import show_course
    from guerdon.evaluation.reward_models.over_optimisation import course, from_start, page
    from guerdon.run import RunFolder

    quieten()
    folder = Path(wish.run).expanduser()
    options = RunFolder(folder).read().get("options") or {}
    divergence = from_start(str(options.get("model", "tiny"))) if wish.kl else None
    found = course(folder, wish.proxy, wish.gold, divergence)
    x = "KL to the policy it began with, nats per completion" if wish.kl else "step"
    rows = [(one.kl if wish.kl else float(one.step), one.proxy, one.gold) for one in found.moments]
    out = Path(wish.out) if wish.out else folder / "over_optimisation.html"
    words = [f"Proxy: {found.proxy}. Gold: {found.gold}, highest at step {found.peak.step}."]
    out.write_text(page(f"Proxy and gold in {folder.name}", rows, x, words), encoding="utf-8")
    show_course(found)
    say(f"curve: {out}")
    return {**found.as_dict(), "run": wish.run, "page": str(out)}


def _stored(file: str) -> tuple[list[Numbered], str, dict[str, Any]]:
    """(rows, name of the file, what its options say of pairs)."""
    from guerdon.data.table import stored
    from guerdon.recipes.data import read_options

    name, options, columns = read_options(file)
    found = stored(name, options.get("rows"))
    return found, name, {"columns": columns, "on_bad_rows": options.get("on_bad_rows", "error")}


def _faults(rater: Rater) -> dict[str, Any]:
    return {"faults": sum(one.samples for one in rater.faults), "fault": str(rater.faults[0]) if rater.faults else None}


def _tell_faults(rater: Rater) -> None:
    if rater.faults:
        number = sum(one.samples for one in rater.faults)
        say(f"{number} replies got no score by {rater.name} and count as lost, such as: {rater.faults[0]}", "yellow")
