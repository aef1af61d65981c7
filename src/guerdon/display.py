"""What people see of a run: a live display on a terminal, plain lines elsewhere, and a summary at the end.

`Progress` gathers events into what is worth showing; the sinks only draw it. All of it goes to standard error.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.metrics import Event, Sink, read_events

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PLAIN_LINES = 20
"""Step lines that a run prints at most where there is no terminal."""

BARS = "▁▂▃▄▅▆▇█"


@dataclass
class Progress:
    """What a run's events add up to. accuracy: (step, interval) of each evaluation."""

    recipe: str = ""
    model: str = ""
    run: str = ""
    first: int = 0
    step: int = 0
    steps: int = 0
    accuracy: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)
    latest: dict[str, float] = field(default_factory=dict)
    note: str = ""
    """What went wrong last, or that the run is about to stop."""
    began: float = 0.0
    now: float = 0.0

    def take(self, event: Event) -> None:
        kind = event["event"]
        self.now = event["time"]
        if kind in ("start", "step", "eval", "save", "end"):
            self.step = event["step"]
        if kind == "start":
            self.recipe, self.model, self.run = event["recipe"], event["model"], event["run"]
            self.first, self.steps = event["step"], event["steps"]
            for past in read_events(Path(self.run) / "metrics.jsonl") if self.first else []:
                self._keep(past)
        self._keep(event)
        if kind in NOTES:
            self.note = NOTES[kind].format_map(event)
        if kind in ("start", "eval") and self.step == self.first:
            self.began = event["time"]

    def _keep(self, event: Event) -> None:
        if event["event"] == "eval":
            self.accuracy.append((event["step"], event["accuracy"]))
        elif event["event"] == "step":
            self.latest = event["metrics"]
            scored = "return" in self.latest and not learned_from_rows(self.latest)
            self.returns += [self.latest["return"]] if scored else []

    @property
    def seconds_left(self) -> float | None:
        """From the average pace of this session, evaluations included; None before the first step."""
        done = self.step - self.first
        return (self.now - self.began) / done * (self.steps - self.step) if done > 0 else None

    @property
    def tokens_per_second(self) -> float | None:
        seconds = self.latest.get("seconds/total")
        return self.latest["sampled/tokens"] / seconds if seconds and "sampled/tokens" in self.latest else None

    @property
    def verdicts(self) -> dict[str, float]:
        """Share of each verdict in the latest batch."""
        found = {name: value for name, value in self.latest.items() if name.startswith("verdict/") and value}
        return {name.rpartition("/")[2].replace("_", " "): value for name, value in found.items()}

    def facts(self) -> list[tuple[str, str]]:
        """(name, value) of what there is to say about the latest step."""
        m = self.latest
        tokens = self.tokens_per_second
        shown: list[tuple[str, str | None]] = [
            ("loss", _number(next((m[name] for name in ROW_LOSSES if name in m), None))),
            ("reward", None if learned_from_rows(m) else _number(m.get("return"))),
            ("length", _number(m.get("length"), ".1f", " tokens")),
            ("cut off", _percent(m.get("truncated"))),
            ("groups without signal", _percent(m.get("groups/no_signal"))),
            ("KL", _number(m.get("loss/kl"), ".2g")),
            ("sampler gap", _number(m.get("gap/mean"), ".1e", " nats")),
            ("gradient norm", _number(m.get("grad_norm"), ".2g")),
            ("speed", _number(tokens, ",.0f", " tokens/s")),
            ("faults", _number(m.get("faults"), ".0f") if m.get("faults") else None),
            ("verdicts", ", ".join(f"{name} {share:.0%}" for name, share in sorted(self.verdicts.items())) or None),
        ]
        return [(name, value) for name, value in shown if value is not None]


ROW_LOSSES = ("loss/supervised", "loss/preference", "loss/reward_model")
"""Losses over the rows of a file, which say how it goes where there is no reward."""


def learned_from_rows(metrics: Mapping[str, float]) -> bool:
    """Whether a step learned from rows alone, with no completion sampled and none scored."""
    return "sampled/tokens" not in metrics and any(name in metrics for name in ROW_LOSSES)


def _number(value: float | None, form: str = ".3f", unit: str = "") -> str | None:
    return None if value is None else f"{value:{form}}{unit}"


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{value:.0%}"


def sparkline(values: Sequence[float], width: int = 40, low: float | None = None, high: float | None = None) -> str:
    """Numbers as a row of bars, averaged down to at most `width`; bounds are those of the numbers unless given."""
    if not values:
        return ""
    width = min(width, len(values))
    cells = [values[i * len(values) // width : (i + 1) * len(values) // width] for i in range(width)]
    means = [sum(cell) / len(cell) for cell in cells]
    least, most = min(means) if low is None else low, max(means) if high is None else high
    span = most - least or 1.0
    return "".join(BARS[min(len(BARS) - 1, max(0, int((mean - least) / span * len(BARS))))] for mean in means)


def interval(found: dict[str, float]) -> str:
    """An interval as people read it: 0.31 (0.26 to 0.37)."""
    return f"{found['mean']:.3f} ({found['low']:.3f} to {found['high']:.3f})"


def counted(number: int, noun: str) -> str:
    """1 step, 2 steps."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def clock(seconds: float | None) -> str:
    """Seconds as m:ss or h:mm:ss."""
    if seconds is None:
        return "-:--"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def show_progress(quiet: bool = False, console: Console | None = None) -> Iterator[Sink]:
    """A sink that shows a run as it goes: live on a terminal, lines elsewhere, nothing when quiet."""
    from rich.console import Console

    console = console or Console(file=sys.stderr, highlight=False)
    if quiet:
        yield lambda event: None
    elif console.is_terminal:
        with _live(console) as sink:
            yield sink
    else:
        yield Lines(console)


@dataclass
class Lines:
    """One line per evaluation and every so many steps."""

    console: Console
    progress: Progress = field(default_factory=Progress)

    def __call__(self, event: Event) -> None:
        p = self.progress
        p.take(event)
        kind = event["event"]
        every = max(1, p.steps // PLAIN_LINES)
        if kind == "start":
            self._say(f"{p.recipe} on {p.model}: {counted(p.steps - p.first, 'step')}, in {p.run}")
        elif kind == "eval":
            self._say(f"step {p.step}/{p.steps}: held-out accuracy {interval(event['accuracy'])}")
        elif kind == "step" and (p.step % every == 0 or p.step in (p.first + 1, p.steps)):
            facts = ", ".join(f"{name} {value}" for name, value in p.facts())
            self._say(f"step {p.step}/{p.steps}: {facts}, left {clock(p.seconds_left)}")
        elif kind in NOTES:
            self._say(p.note)

    def _say(self, text: str) -> None:
        self.console.print(text, markup=False, soft_wrap=True)


NOTES = {
    "fault": "Fault of task {task} ({of} samples with faults in step {step}): {where}: {what}",
    "alarm": "Look at this (step {step}): {sentence}.",
    "damaged": "A damaged checkpoint was put aside, to {path}: {why}",
    "stopping": "Stopping: the step in hand is finished, then all is saved. Once more to stop at once.",
}
"""Events that people are told about in words."""


@contextmanager
def _live(console: Console) -> Iterator[Sink]:
    from rich.live import Live
    from rich.text import Text

    progress = Progress()
    with Live(Text("Loading the policy and the tasks ..."), console=console, refresh_per_second=4) as live:

        def sink(event: Event) -> None:
            progress.take(event)
            live.update(panel(progress))

        yield sink


def panel(p: Progress) -> Any:
    """The live display."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    head = Table.grid(padding=(0, 2), expand=True)
    head.add_column(no_wrap=True)
    head.add_column(ratio=1)
    head.add_column(no_wrap=True, justify="right")
    bar = ProgressBar(total=max(1, p.steps), completed=p.step)
    left = "starting" if p.seconds_left is None else f"{clock(p.seconds_left)} left"
    head.add_row(f"step {p.step}/{p.steps}", bar, left)
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column()
    if p.accuracy:
        rows.add_row("held-out accuracy", Text.assemble((_journey(p), "bold green")))
    if len(p.accuracy) > 1:
        rows.add_row("", Text(sparkline([a["mean"] for _, a in p.accuracy], low=0.0, high=1.0), style="green"))
    if len(p.returns) > 1:
        rows.add_row("reward so far", Text(sparkline(p.returns), style="cyan"))
    for name, value in p.facts():
        rows.add_row(name, Text(value))
    parts: list[Any] = [head, rows, *([Text(p.note, style="yellow")] if p.note else [])]
    return Panel(Group(*parts), title=Text(f"{p.recipe} on {p.model}"), subtitle=Text(p.run), title_align="left")


def _journey(p: Progress) -> str:
    first, last = p.accuracy[0][1], p.accuracy[-1][1]
    return interval(first) if len(p.accuracy) == 1 else f"{interval(first)}  ->  {interval(last)}"


def show_summary(
    summary: dict[str, Any], difference: dict[str, float] | None, report: Path, further: Sequence[tuple[str, str]]
) -> None:
    """What came of a run, where it is, and what to do next. further: (command, what it does)."""
    from rich.console import Console

    console = Console(file=sys.stderr, highlight=False)
    console.print(summary_table(summary, difference))
    for line in watched(summary):
        console.print(line, style="yellow", markup=False, soft_wrap=True)
    if not summary["tokens"]["trained"]:
        console.print(NOTHING, markup=False)
    run = shlex.quote(summary["run"])
    console.print(f"The run is in {run}, its report in {shlex.quote(str(report))}.", markup=False, soft_wrap=True)
    console.print("What next:", markup=False)
    for command, what in further:
        console.print(f"  {command:<58} {what}", markup=False, soft_wrap=True)


NOTHING = (
    "Nothing was trained on: in no group did the rewards differ, so nothing could be told apart. The tasks may be too "
    "easy or too hard for this policy, or the reward may never vary; the report shows samples with their verdicts."
)


def of_a_reward_model(run: str) -> list[tuple[str, str]]:
    """(command, what it does) to go on from a trained reward model."""
    return [
        (f"guerdon reward eval {run} PAIRS.jsonl", "calibration, length, accuracy by column"),
        (f"guerdon train --reward 'model:{run}'", "train a policy with it"),
    ]


def next_steps(run: str, prompt: str) -> list[tuple[str, str]]:
    """(command, what it does) to go on from a finished run."""
    return [
        (f"guerdon sample {run} {shlex.quote(prompt)}", "try the trained policy"),
        (f"guerdon eval {run} --samples 4 --k 1,4", "measure it, with pass@k"),
        ("guerdon train --reward my_reward.py:score", "train with a reward of your own"),
    ]


def watched(summary: Mapping[str, Any]) -> list[str]:
    """What went wrong without stopping the run, a sentence each: faults of rewards, and alarms."""
    faults, lines = summary["faults"], []
    if faults["samples"]:
        told = "; ".join(faults["examples"])
        what = counted(faults["samples"], "completion")
        lines.append(f"{what} ({faults['share']:.1%}) got no score because of faults, such as: {told}")
    return [*lines, *(f"Look at this, {alarm}." for alarm in summary["alarms"])]


def summary_table(summary: dict[str, Any], difference: dict[str, float] | None) -> Table:
    """Before, after and the paired difference, and what it cost."""
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for name, key in (("held-out accuracy before", "heldout_before"), ("after", "heldout_after")):
        if summary.get(key):
            table.add_row(name, f"{interval(summary[key])} on {counted(round(summary[key]['n']), 'task')}")
    if difference:
        table.add_row("difference, task by task", interval(difference))
    for reward, shares in summary["rewards"].items():
        told = ", ".join(f"{status.replace('_', ' ')} {share:.1%}" for status, share in shares.items() if share)
        if told:
            table.add_row(f"verdicts of {reward} in training", told)
    tokens = summary["tokens"]
    table.add_row("time", f"{clock(summary['seconds'])} for {counted(summary['steps'], 'step')}")
    table.add_row("tokens", f"{tokens['sampled']:,} sampled, {tokens['trained']:,} trained on")
    table.add_row("peak memory", f"{summary['peak_memory_mb']:,.0f} MB")
    return table
