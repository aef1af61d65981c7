"""Curves as SVG: points where they belong, whatever the numbers."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Curve, chart, thinned


def points(svg: str, name: str = "curve") -> list[tuple[float, float]]:
    found = re.search(rf'class="{name}" points="([^"]*)"', svg)
    assert found is not None
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in found[1].split())]


def test_corners_are_at_the_ends_of_the_axes():
    found = points(chart(Curve([(0, 1.0), (10, 3.0)])))
    assert found == [(LEFT, HEIGHT - BOTTOM), (WIDTH - RIGHT, TOP)]


def test_the_band_goes_there_and_back():
    svg = chart(Curve([(0, 0.5), (1, 0.5)], [(0, 0.0, 1.0), (1, 0.25, 0.75)]))
    ys = [y for _, y in points(svg, "band")]
    assert ys[0] == TOP
    assert ys[3] == HEIGHT - BOTTOM
    assert ys[0] < ys[1] < ys[2] < ys[3]


def test_several_curves_share_one_frame():
    svg = chart(Curve([(1, 0.0), (4, 1.0)], [(1, 0, 0.5), (4, 0.5, 1)]), Curve([]), Curve([(2, 2.0)]), doubling=True)
    assert points(svg, "curve curve-0") == [(LEFT, HEIGHT - BOTTOM), (WIDTH - RIGHT, (TOP + HEIGHT - BOTTOM) / 2)]
    assert points(svg, "curve curve-2") == [((LEFT + WIDTH - RIGHT) / 2, TOP)]
    assert "curve-1" not in svg
    assert svg.index("band-0") < svg.index("curve-0")
    assert ">1<" in svg
    assert ">4<" in svg
    assert ">8,000<" in chart(Curve([(0, 0.0), (8000, 1.0)]))
    assert chart(Curve([]), Curve([])) == ""


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(width=32), max_size=40))
def test_any_numbers_make_a_drawing_inside_its_frame(ys: list[float]):
    svg = chart(Curve(list(enumerate(ys))))
    if not svg:
        assert not any(abs(y) < float("inf") for y in ys)
        return
    ET.fromstring(svg)
    for x, y in points(svg):
        assert LEFT <= x <= WIDTH - RIGHT
        assert TOP <= y <= HEIGHT - BOTTOM


@pytest.mark.parametrize(("count", "most"), [(0, 5), (3, 5), (10, 5), (11, 5), (1000, 400)])
def test_thinning_keeps_the_mean(count: int, most: int):
    full = [(float(i), float(i * i)) for i in range(count)]
    found = thinned(full, most)
    assert len(found) <= most
    if count and count % len(found) == 0:
        assert sum(y for _, y in found) / len(found) == pytest.approx(sum(y for _, y in full) / count)
