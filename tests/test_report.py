"""The page of a run: what it says, and that nothing a model wrote can become markup."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from guerdon.report import paired, render, write_report
from guerdon.store import write_episodes
from guerdon.types import Episode, Group, Score, Span, Task, Verdict

ATTACKS = [
    "<script>alert(1)</script>",
    "</pre><img src=x onerror=alert(1)>",
    "'\"><svg/onload=alert(1)>",
    "<!--",
    "{style} {0} %s &lt;b&gt; \x00 \u202e",
    "</title><iframe src=//evil.example>",
]
RECORD = {
    "recipe": "grpo",
    "arguments": {"steps": 2, "reward": "<b>x.py</b>:f"},
    "options": {"model": "<i>tiny</i>", "steps": 2},
    "method": {"settings": {"beta": 0.0}},
}


def group(name: str, reply: str, right: bool) -> Group:
    verdict = Verdict("right" if right else "wrong", reply)
    spans = [
        Span(np.array([1, 2])),
        Span(np.array([3]), np.zeros(1), 0, message={"role": "assistant", "content": reply}),
    ]
    return [Episode(Task(name, reply), spans, {reply: Score(float(right), verdict=verdict)}, stop="length")]


def event(kind: str, step: int, **fields: object) -> dict:
    return {"event": kind, "time": 0.0, "step": step, **fields}


EVENTS = [
    event("start", 0, steps=2, run="x", recipe="grpo", model="tiny"),
    event("eval", 0, accuracy={"mean": 0.25, "low": 0.1, "high": 0.4, "n": 4}),
    event("step", 1, steps=2, metrics={"return": 0.2, "length": 3.0, "grad_norm": 1.0}),
    event("step", 2, steps=2, metrics={"return": 0.7, "length": 4.0, "grad_norm": 1.0}),
    event("eval", 2, accuracy={"mean": 0.75, "low": 0.6, "high": 0.9, "n": 4}),
    event("end", 2, state="finished"),
]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def parsed(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    return tags


PLAIN = "html head meta title style body h1 h2 p b code div figure figcaption table tr th td pre span details summary"
ALLOWED = {*PLAIN.split(" "), "svg", "line", "text", "polyline", "polygon"}


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_a_model_wrote_stays_text(attack: str):
    page = render(RECORD, EVENTS, [group("a", attack, False)], [group("a", attack, True)])
    tags = parsed(page)
    assert tags.tags <= ALLOWED
    assert not any(name.startswith("on") or name in ("src", "href") for name in tags.attributes)
    assert "".join(tags.texts).count(attack) >= 3  # the prompt and both completions, as they were written


def test_the_page_needs_nothing_from_outside():
    page = render(RECORD, EVENTS, [], [])
    assert "http" not in page.replace("http-equiv", "")
    assert "prefers-color-scheme: dark" in page
    assert "default-src 'none'" in page


def test_the_page_tells_what_came_of_it():
    page = render(RECORD, EVENTS, [group("a", "3", False)], [group("a", "4", True)])
    for said in ("finished, 2 of 2 steps", "0.250", "0.750", "0.100 to 0.400", "Held-out accuracy", "Gradient norm"):
        assert said in page
    assert "KL term" not in page  # the run has none
    assert page.count("<svg") == 4
    assert "guerdon train grpo --steps 2 --reward &#x27;&lt;b&gt;x.py&lt;/b&gt;:f&#x27;" in page


def test_a_run_that_was_killed_before_a_step_has_a_page():
    page = render(RECORD, EVENTS[:1], [], [])
    assert "running or killed, no step done" in page
    assert parsed(page).tags <= ALLOWED


def test_a_failure_is_told():
    page = render(RECORD, [*EVENTS[:3], event("end", 1, state="failed", why="GapTooLarge: <x>")], [], [])
    assert "failed, 1 of 2 steps: GapTooLarge: &lt;x&gt;" in page


def test_the_difference_is_over_the_same_tasks():
    before = [group(name, "x", right) for name, right in (("a", False), ("b", False), ("c", True), ("d", False))]
    after = [group(name, "x", right) for name, right in (("d", True), ("b", True), ("a", False), ("c", True))]
    found = paired(before, after)
    assert found is not None
    assert (found["mean"], found["n"]) == (0.5, 4)
    assert found["low"] < 0.5 < found["high"]
    assert paired(before, after[:3]) is None
    assert paired([], []) is None
    assert paired(before[:1], before[:1]) is None  # one task says nothing about others


def test_the_page_is_written_into_the_folder(tmp_path: Path):
    (tmp_path / "run.json").write_text(json.dumps(RECORD))
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(e) + "\n" for e in EVENTS) + '{"event": "st')
    for step, right in ((0, False), (2, True)):
        path = tmp_path / "episodes" / f"heldout-{step:06d}.parquet"
        write_episodes(path, step, [group("a", f"reply at {step}", right)])
    page = write_report(tmp_path)
    text = page.read_text()
    assert page == tmp_path / "report.html"
    assert text.index("reply at 0") < text.index("reply at 2")
    assert "difference, task by task" not in text or "1.000" in text
    with pytest.raises(FileNotFoundError, match="no run folder"):
        write_report(tmp_path / "elsewhere")
