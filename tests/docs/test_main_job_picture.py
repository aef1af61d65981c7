"""The picture of the main job: drawn from a run's events, well-formed, and the same in the README and on the site."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
DRAW = runpy.run_path(str(ROOT / "scripts" / "draw_main_job.py"))["draw"]


def events(evals: int, steps: int) -> list[dict[str, Any]]:
    accuracy = [{"mean": 0.3 + 0.3 * i, "low": 0.2 + 0.3 * i, "high": 0.4 + 0.3 * i, "n": 200} for i in range(evals)]
    found: list[dict[str, Any]] = [{"event": "eval", "step": 10 * i, "accuracy": a} for i, a in enumerate(accuracy)]
    return found + [{"event": "step", "step": i, "metrics": {"return": i / 10}} for i in range(1, steps + 1)]


def test_two_curves_one_band_and_what_they_say() -> None:
    picture = ElementTree.fromstring(DRAW(events(3, 20)))
    assert picture.attrib["aria-label"] == "Held-out accuracy goes from 0.30 to 0.90 in 20 steps."
    kinds = [node.attrib.get("class") for node in picture.iter()]
    assert kinds.count("curve") == 2
    assert kinds.count("band") == 1


def test_a_run_that_is_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="found 1 evaluations and 20 steps"):
        DRAW(events(1, 20))


def test_the_picture_that_is_shown_is_there_and_was_made_by_the_script() -> None:
    shown = ROOT / "docs" / "assets" / "main_job.svg"
    assert "(docs/assets/main_job.svg)" in (ROOT / "README.md").read_text()
    assert "(assets/main_job.svg)" in (ROOT / "docs" / "index.md").read_text()
    picture = ElementTree.parse(shown).getroot()
    assert picture.attrib["width"] == ElementTree.fromstring(DRAW(events(3, 20))).attrib["width"]
    assert "Held-out accuracy goes from" in picture.attrib["aria-label"]
