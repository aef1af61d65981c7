"""`report.html` of a run: one file that needs nothing else, made from what the run folder holds.

Everything that a model or a task wrote is escaped: a completion is data, never markup.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from guerdon.charts import Curve, chart
from guerdon.display import learned_from_rows
from guerdon.evaluation.evaluate import is_right
from guerdon.evaluation.intervals import paired_difference
from guerdon.files import write_whole
from guerdon.metrics import Event, read_events
from guerdon.run import RunFolder
from guerdon.store import read_episodes
from guerdon.types import Episode, Group

FAULTS = 5
"""Kinds of faults that are listed."""

EXAMPLES = 12
"""Held-out tasks whose completions are shown."""

CURVES: Sequence[tuple[str, str, str]] = (
    ("loss/supervised", "Loss", "mean negative log-likelihood of the demonstrations"),
    ("loss/preference", "Loss", "of the pairs"),
    ("loss/reward_model", "Loss", "of the reward model"),
    ("return", "Reward", "mean return of the completions trained on"),
    ("length", "Length", "sampled tokens per completion"),
    ("truncated", "Cut off", "share of completions that met the length limit"),
    ("groups/no_signal", "Groups without signal", "share of groups whose completions all scored the same"),
    ("gap/mean", "Sampler gap", "mean difference of log-probabilities, sampler and trainer, in nats"),
    ("loss/kl", "KL term", "its part of the loss"),
    ("grad_norm", "Gradient norm", "before clipping"),
)
"""(metric, title, what it is) of the curves, in order; those that a run has none of are left out."""

SHARES = ("truncated", "groups/no_signal")
"""Curves that are shares of a whole."""


def write_report(folder: Path | str) -> Path:
    """Write `report.html` into a run folder and return its path. OSError or ValueError when it is no run folder."""
    run = RunFolder(Path(folder))
    page = render(run.read(), read_events(run.metrics), *heldout(run))
    write_whole(run.report, page)
    return run.report


def heldout(run: RunFolder) -> tuple[list[Group], list[Group]]:
    """Completions of the held-out tasks at the first and the last evaluation; empty where there was none."""
    files = sorted((run.path / "episodes").glob("heldout-*.parquet"))
    return read_episodes(files[0]) if files else [], read_episodes(files[-1]) if len(files) > 1 else []


def paired(before: Sequence[Group], after: Sequence[Group]) -> dict[str, float] | None:
    """The mean difference in accuracy over the same tasks, with its interval; None for fewer than two."""
    first, second = _right(before), _right(after)
    if len(first) < 2 or first.keys() != second.keys():
        return None
    return asdict(paired_difference(first, second))


def _right(groups: Sequence[Group]) -> dict[str, list[float]]:
    return {group[0].task.id: [float(is_right(episode)) for episode in group] for group in groups}


def render(record: Mapping[str, Any], events: Sequence[Event], before: Sequence[Group], after: Sequence[Group]) -> str:
    """The page of a run, from its record, its events and its held-out completions."""
    evals = [event for event in events if event["event"] == "eval"]
    end = next((event for event in reversed(events) if event["event"] == "end"), {})
    title = f"{record.get('recipe') or 'run'} on {record['options']['model']}"
    body = [
        f"<h1>{escape(title)}</h1>",
        _state(end, events),
        _alarms(events),
        _accuracy(evals, paired(before, after)),
        _curves(evals, [event for event in events if event["event"] == "step"]),
        _examples(before, after),
        _settings(record),
    ]
    return PAGE.format(title=escape(title), style=STYLE, body="\n".join(part for part in body if part))


def _state(end: Mapping[str, Any], events: Sequence[Event]) -> str:
    steps = [event for event in events if event["event"] == "step"]
    done = f"{steps[-1]['step']} of {steps[-1]['steps']} steps" if steps else "no step done"
    state = str(end.get("state", "running or killed"))
    why = f": {end['why']}" if end.get("why") else ""
    return f'<p class="lead">{escape(f"{state}, {done}{why}")}</p>'


def _alarms(events: Sequence[Event]) -> str:
    """What the watch over the rewards had to say, and the first fault of each kind, with how often it was told."""
    told = [f"<li>step {e['step']}: {escape(e['sentence'])}.</li>" for e in events if e["event"] == "alarm"]
    faults = Counter(f"{e['where']}: {e['what']}" for e in events if e["event"] == "fault")
    told += [f"<li>fault, told {number} times: {escape(what)}</li>" for what, number in faults.most_common(FAULTS)]
    return f"<h2>Look at this</h2><ul>{''.join(told)}</ul>" if told else ""


def _accuracy(evals: Sequence[Event], difference: Mapping[str, float] | None) -> str:
    if not evals:
        return ""
    rows = [("before", evals[0]["accuracy"]), (f"after step {evals[-1]['step']}", evals[-1]["accuracy"])]
    rows = rows[: min(len(evals), 2)] + ([("difference, task by task", difference)] if difference else [])
    cells = "".join(
        f"<tr><th>{escape(name)}</th><td class='big'>{found['mean']:.3f}</td>"
        f"<td>{found['low']:.3f} to {found['high']:.3f}</td><td>{found['n']:.0f} tasks</td></tr>"
        for name, found in rows
    )
    return (
        f"<h2>Held-out accuracy</h2><table><tr><th></th><th>mean</th><th>95% interval</th><th></th></tr>{cells}</table>"
    )


def _curves(evals: Sequence[Event], steps: Sequence[Event]) -> str:
    drawn = []
    if len(evals) > 1:
        points = [(e["step"], e["accuracy"]["mean"]) for e in evals]
        band = [(e["step"], e["accuracy"]["low"], e["accuracy"]["high"]) for e in evals]
        drawn.append(_figure("Held-out accuracy", "with its 95% interval", Curve(points, band, share=True)))
    for name, title, text in CURVES:
        measured = [e for e in steps if name in e["metrics"]]
        if name == "return":
            measured = [e for e in measured if not learned_from_rows(e["metrics"])]
        points = [(e["step"], e["metrics"][name]) for e in measured]
        if len(points) > 1:
            drawn.append(_figure(title, text, Curve(points, share=name in SHARES)))
    return f'<h2>Curves</h2><div class="curves">{"".join(drawn)}</div>' if drawn else ""


def _figure(title: str, text: str, curve: Curve) -> str:
    return f"<figure><figcaption><b>{escape(title)}</b> {escape(text)}</figcaption>{chart(curve)}</figure>"


def _examples(before: Sequence[Group], after: Sequence[Group]) -> str:
    later = {group[0].task.id: group for group in after}
    shared = [group for group in before if group[0].task.id in later][:EXAMPLES]
    if not shared:
        return ""
    rows = "".join(
        f"<tr><td>{_pre(_prompt(group[0].task.prompt))}</td>{_completion(group[0])}"
        f"{_completion(later[group[0].task.id][0])}</tr>"
        for group in shared
    )
    return (
        "<h2>The same held-out tasks, before and after</h2><table class='examples'>"
        f"<tr><th>prompt</th><th>before</th><th>after</th></tr>{rows}</table>"
    )


def _completion(episode: Episode) -> str:
    right = is_right(episode)
    notes = [_verdict(name, score) for name, score in episode.scores.items()]
    notes += ["cut off by the length limit"] if episode.stop == "length" else []
    mark = f'<span class="{"right" if right else "wrong"}">{"right" if right else "not right"}</span>'
    text = escape("; ".join(filter(None, notes)))
    return f"<td>{_pre(episode.reply)}<div class='note'>{mark} {text}</div></td>"


def _verdict(name: str, score: Any) -> str:
    value = "does not apply" if score.value is None else f"{score.value:g}"
    found = score.verdict
    why = f" ({found.status.replace('_', ' ')}{': ' + found.reason if found.reason else ''})" if found else ""
    return f"{name} {value}{why}"


def _prompt(prompt: Any) -> str:
    """A prompt as text: itself, or its messages under their roles."""
    if isinstance(prompt, str):
        return prompt
    if isinstance(prompt, list) and all(isinstance(message, dict) for message in prompt):
        return "\n".join(f"[{message.get('role')}] {message.get('content')}" for message in prompt)
    return json.dumps(prompt)


def _pre(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def _settings(record: Mapping[str, Any]) -> str:
    tables = []
    for name in ("options", "method", "rewards", "versions", "hardware"):
        found = record.get(name)
        if isinstance(found, Mapping) and found:
            rows = "".join(f"<tr><th>{escape(str(k))}</th><td>{escape(_plain(v))}</td></tr>" for k, v in found.items())
            tables.append(f"<details><summary>{escape(name)}</summary><table>{rows}</table></details>")
    command = escape(_command(record))
    return f"<h2>Settings</h2><p>Made with <code>{command}</code></p>{''.join(tables)}"


def _command(record: Mapping[str, Any]) -> str:
    words = [f"--{k.replace('_', '-')} {shlex.quote(_plain(v))}" for k, v in (record.get("arguments") or {}).items()]
    return " ".join(["guerdon train", str(record.get("recipe") or ""), *words])


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""

STYLE = """
:root { color-scheme: light dark; --ink: #1d2330; --soft: #6a7385; --paper: #fff; --line: #d9dee7; --mark: #1f6feb;
  --good: #1a7f37; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ef; --soft: #98a2b3; --paper: #14171d; --line: #313846;
  --mark: #58a6ff; --good: #56d364; --bad: #ff7b72; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 68rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; } .lead, figcaption, .note { color: var(--soft); }
table { border-collapse: collapse; } th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0;
  border-bottom: 1px solid var(--line); } th { font-weight: 600; } .big { font-size: 1.2rem; font-weight: 600; }
.curves { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1rem; }
figure { margin: 0; } svg { width: 100%; height: auto; } svg text { fill: var(--soft);
  font: 11px system-ui, sans-serif; }
.axis { stroke: var(--line); } .curve { fill: none; stroke: var(--mark); stroke-width: 1.8; }
.band { fill: var(--mark); opacity: .18; } pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.examples { table-layout: fixed; width: 100%; } .note { font-size: .85rem; }
.right { color: var(--good); } .wrong { color: var(--bad); } summary { cursor: pointer; }
"""
