"""The picture of a record: intervals where they belong, and names that stay text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from guerdon.claims.picture import LABEL, RIGHT, WIDTH, expected, picture


def interval(mean: float, half: float) -> dict:
    return {"mean": mean, "low": mean - half, "high": mean + half, "n": 5}


def found(**arms: dict) -> dict:
    expectations = [("score of new is higher than of old", False), ("cost of new is lower than of old", True)]
    return {
        "slug": "mine",
        "arms": {name: {"metrics": metrics} for name, metrics in arms.items()},
        "expectations": [{"text": text, "control": control} for text, control in expectations],
    }


def test_what_was_expected_of_is_drawn_for_every_arm_that_has_it():
    record = found(
        old={"score": interval(0.0, 1.0)}, new={"score": interval(3.0, 1.0), "cost": interval(1, 0)}, none={}
    )
    assert expected(record) == ["score"]
    drawn = picture(record)
    ET.fromstring(drawn)
    centres = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', drawn)]
    lines = [
        (float(a), float(b)) for a, b in re.findall(r'x1="([\d.]+)" y1="[\d.]+" x2="([\d.]+)" [^>]*stroke-width', drawn)
    ]
    assert len(centres) == len(lines) == 2
    assert LABEL < lines[0][0] < centres[0] < lines[0][1] < centres[1] < lines[1][1] < WIDTH - RIGHT
    assert ">old<" in drawn
    assert ">none<" not in drawn


def test_an_interval_without_end_stays_in_the_frame():
    wide = {"mean": 0.5, "low": float("-inf"), "high": float("inf"), "n": 1}
    drawn = picture(found(old={"score": wide}, new={"score": interval(0.5, 0.0)}))
    ET.fromstring(drawn)
    assert "inf" not in drawn
    assert "nan" not in drawn


def test_names_stay_text():
    drawn = picture(found(**{"<script>": {"score": interval(0.0, 1.0)}}))
    assert "<script" not in drawn
    ET.fromstring(drawn)


def test_nothing_to_draw():
    assert picture(found(old={}, new={})) == ""
