"""What is shown of a run, from its events."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from guerdon.display import (
    Progress,
    clock,
    next_steps,
    of_a_reward_model,
    panel,
    show_progress,
    sparkline,
    summary_table,
    watched,
)

INTERVAL = {"mean": 0.25, "low": 0.125, "high": 0.5, "n": 8}


def events(steps: int = 40) -> list[dict]:
    found = [
        {"event": "start", "time": 0.0, "step": 0, "steps": steps, "run": "runs/x", "recipe": "grpo", "model": "tiny"}
    ]
    found.append({"event": "eval", "time": 5.0, "step": 0, "accuracy": INTERVAL})
    for step in range(1, steps + 1):
        metrics = {
            "return": step / steps,
            "length": 4.0,
            "truncated": 0.5,
            "groups/no_signal": 0.25,
            "gap/mean": 1e-7,
            "sampled/tokens": 500,
            "seconds/total": 0.5,
            "verdict/numeric/right": 0.75,
            "verdict/numeric/no_answer": 0.25,
        }
        found.append({"event": "step", "time": 5.0 + 2.0 * step, "step": step, "steps": steps, "metrics": metrics})
    return found


def drawn(thing: object) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(thing)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_time_left_is_the_pace_so_far():
    progress = Progress()
    for event in events()[:12]:
        progress.take(event)
    assert progress.step == 10
    assert progress.seconds_left == 60.0  # two seconds a step since the first evaluation, thirty steps to go
    assert progress.tokens_per_second == 1000.0
    assert progress.verdicts == {"right": 0.75, "no answer": 0.25}


def test_the_panel_shows_what_matters():
    progress = Progress()
    for event in events():
        progress.take(event)
    progress.take({"event": "eval", "time": 99.0, "step": 40, "accuracy": {**INTERVAL, "mean": 0.45}})
    text = drawn(panel(progress))
    for said in ("grpo on tiny", "runs/x", "step 40/40", "0.250 (0.125 to 0.500)  ->  0.450", "1,000 tokens/s", "25%",
                 "1.0e-07 nats", "no answer 25%, right 75%"):  # fmt: skip
        assert said in text
    progress.take({"event": "stopping", "time": 100.0, "step": 40, "signal": "SIGINT"})
    assert "Stopping" in drawn(panel(progress))


def test_rows_have_a_loss_and_no_reward():
    progress = Progress()
    progress.take(events()[0])
    metrics = {"return": 0.0, "length": 2.0, "loss/supervised": 0.268}
    progress.take({"event": "step", "time": 1.0, "step": 1, "steps": 2, "metrics": metrics})
    assert dict(progress.facts()) == {"loss": "0.268", "length": "2.0 tokens"}
    assert progress.returns == []


def test_faults_are_told_and_do_not_move_the_step():
    console = Console(file=io.StringIO(), width=60, force_terminal=False)
    with show_progress(console=console) as sink:
        for event in events(3):
            sink(event)
        sink({"event": "fault", "time": 1.0, "step": 4, "task": "a{0}", "where": "reward", "what": "[b]boom", "of": 2})
        sink({"event": "stopping", "time": 100.0, "step": 3, "signal": "SIGINT"})
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert lines[-2] == "Fault of task a{0} (2 samples with faults in step 4): reward: [b]boom"
    assert lines[-1].startswith("Stopping")


def test_a_resumed_run_remembers_where_it_began(tmp_path: Path):
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events(4)))
    progress = Progress()
    progress.take({**events()[0], "time": 500.0, "step": 4, "steps": 8, "run": str(tmp_path)})
    assert progress.accuracy == [(0, INTERVAL)]
    assert progress.returns == [0.25, 0.5, 0.75, 1.0]
    assert progress.seconds_left is None
    progress.take({**events()[-1], "time": 503.0, "step": 5, "steps": 8})
    assert progress.seconds_left == 9.0


def test_without_a_terminal_a_line_now_and_then():
    console = Console(file=io.StringIO(), width=60, force_terminal=False)
    with show_progress(console=console) as sink:
        for event in events():
            sink(event)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert lines[0] == "grpo on tiny: 40 steps, in runs/x"
    assert lines[1] == "step 0/40: held-out accuracy 0.250 (0.125 to 0.500)"
    assert len(lines) == 2 + 1 + 20
    assert lines[-1].startswith("step 40/40: reward 1.000, length 4.0 tokens, cut off 50%")


def test_on_a_terminal_it_is_drawn_in_place():
    console = Console(file=io.StringIO(), width=90, force_terminal=True)
    with show_progress(console=console) as sink:
        for event in events(3):
            sink(event)
    assert "step 3/3" in console.file.getvalue()  # type: ignore[attr-defined]


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str]):
    with show_progress(quiet=True) as sink:
        for event in events(3):
            sink(event)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("values", "width", "bars"),
    [([], 4, ""), ([0.0, 1.0], 4, "▁█"), ([1.0, 1.0], 4, "▁▁"), ([0.0, 0.0, 1.0, 1.0], 2, "▁█"), ([0.5], 4, "▁")],
)
def test_sparklines(values: list[float], width: int, bars: str):
    assert sparkline(values, width) == bars


def test_sparklines_within_bounds():
    assert sparkline([0.0, 0.5, 1.0, 9.0], low=0.0, high=1.0) == "▁▅██"


@pytest.mark.parametrize(("seconds", "text"), [(None, "-:--"), (0, "0:00"), (61.4, "1:01"), (3661, "1:01:01")])
def test_clock(seconds: float | None, text: str):
    assert clock(seconds) == text


def test_the_summary_and_what_next():
    summary = {
        "heldout_before": INTERVAL,
        "heldout_after": {**INTERVAL, "mean": 0.9},
        "seconds": 61.0,
        "steps": 7,
        "tokens": {"sampled": 1234567, "trained": 5},
        "peak_memory_mb": 321.0,
        "rewards": {"math": {"right": 0.25, "wrong": 0.75, "failed": 0.0}, "mine": {"failed": 0.0}},
        "faults": {"samples": 30, "share": 0.012, "examples": ["reward 'mine': it raised ValueError"]},
        "alarms": ["step 20: reward 'mine' was 0 in all 99 scores"],
    }
    text = drawn(summary_table(summary, {"mean": 0.65, "low": 0.6, "high": 0.7, "n": 8}))
    for said in ("0.900", "0.650 (0.600 to 0.700)", "1,234,567 sampled", "1:01 for 7 steps"):
        assert said in text
    assert "verdicts of math in training  right 25.0%, wrong 75.0%" in text
    assert "mine" not in text
    assert watched(summary) == [
        "30 completions (1.2%) got no score because of faults, such as: reward 'mine': it raised ValueError",
        "Look at this, step 20: reward 'mine' was 0 in all 99 scores.",
    ]
    commands = [command for command, _ in next_steps("'a b'", "1+1; rm")]
    assert commands[0] == "guerdon sample 'a b' '1+1; rm'"
    assert len(commands) == 3
    assert all("runs/x" in command for command, _ in of_a_reward_model("runs/x"))
