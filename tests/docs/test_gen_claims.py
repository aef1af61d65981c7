"""The page of claims: every record is on it, and what lies in docs/ is what the records say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from guerdon.claims import record

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def gen() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gen_claims", DOCS / "gen_claims.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_records_say(gen: ModuleType) -> None:
    assert gen.PAGE.read_text(encoding="utf-8") == gen.whole(gen.records()), "write it anew: python docs/gen_claims.py"


def test_every_record_has_its_row_and_its_section(gen: ModuleType) -> None:
    page, site = gen.whole(gen.records()), gen.whole(gen.records(), site=True)
    kept = sorted(path.stem for path in record.FOLDER.glob("*.json"))
    assert [one["slug"] for one in gen.records()] == kept
    for slug in kept:
        assert f"| [{slug}](#{slug}) |" in page
        assert f"## {slug}\n" in page
        assert f"`guerdon claim {slug}" in page
    assert site.count("<svg") == len(kept)
    assert "<svg" not in page


def test_a_row_shows_the_expectation_that_decided(gen: ModuleType) -> None:
    difference = {"mean": -0.5, "low": -1.0, "high": 0.25, "n": 5}
    texts = [("a of x is higher than of y", "holds"), ("b of x is higher than of y", "undecided")]
    one = {
        "slug": "mine",
        "claim": "x beats y | always.",
        "word": "undecided",
        "seeds": [0, 1, 2, 3, 4],
        "stale": True,
        "command": "guerdon claim mine",
        "expectations": [{"text": t, "word": w, "control": False, "difference": difference} for t, w in texts],
    }
    row = gen._row(one, site=False)
    assert r"x beats y \| always." in row
    assert "b of x is higher than of y: -0.5 (-1 to 0.25), 5 seeds" in row
    assert "stale" not in row
    assert "**undecided** (stale)" in gen._row(one, site=True)


def test_budgets_are_a_column_for_each_thing_that_was_counted(gen: ModuleType) -> None:
    arms = {"x": {"budget_per_seed": {"sampled_tokens": 30000.0}}, "bound": {"budget_per_seed": {}}}
    assert gen._budgets({"arms": arms}) == [
        "| Used per seed | sampled tokens |",
        "| --- | ---: |",
        "| x | 30,000 |",
        "| bound |  |",
        "",
    ]
    assert gen._budgets({"arms": {"x": {"budget_per_seed": {}}}}) == []
