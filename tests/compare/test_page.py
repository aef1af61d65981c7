"""The page of a comparison: what it says, and that nothing a policy wrote becomes markup."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from guerdon.compare.jobs import START, Job, do
from guerdon.compare.page import in_words, render
from guerdon.compare.results import Found, read
from guerdon.evaluation.protocol.store import read_evaluated, write_evaluated
from tests.compare.arms import comparison, ignore, never
from tests.test_report import ALLOWED, ATTACKS, parsed


@pytest.fixture(scope="module")
def folder(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("comparison")
    made = comparison(model, folder)
    for job in (Job(""), Job("grpo", 0), Job("rloo", 0), Job("grpo", 1), Job("rloo", 1)):
        do(made, folder, job, ignore, never)
    return folder


def found_in(folder: Path, model: Path) -> Found:
    found = read(folder, comparison(model, folder))
    assert found is not None
    return found


def test_it_tells_figures_budgets_and_curves(folder: Path, model: Path):
    page = render(found_in(folder, model), folder, "guerdon compare <b>grpo</b>")
    tags = parsed(page)
    assert tags.tags <= {*ALLOWED, "ul", "li"}
    for said in ("grpo against rloo", "less grpo", "over the budget", "distinct right", "pass@k", "start", "Made with"):
        assert said in page
    assert "guerdon compare &lt;b&gt;grpo" in page
    assert page.count('class="curve curve-1"') >= 6
    assert "curve-2" in page  # the start, beside two arms
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_a_policy_wrote_stays_text(folder: Path, model: Path, attack: str):
    kept = read_evaluated(folder / f"{START}.jsonl")
    try:
        write_evaluated(
            folder / f"{START}.jsonl", replace(kept, decodes=[replace(one, text=attack) for one in kept.decodes])
        )
        tags = parsed(render(found_in(folder, model), folder, "guerdon compare"))
    finally:
        write_evaluated(folder / f"{START}.jsonl", kept)
    assert tags.tags <= {*ALLOWED, "ul", "li"}
    assert not any(name.startswith("on") or name in ("src", "href") for name in tags.attributes)
    assert "".join(tags.texts).count(attack) >= 3


def test_few_seeds_are_not_put_in_a_word(folder: Path, model: Path):
    first, *others = in_words(found_in(folder, model))
    assert first.startswith("accuracy of rloo less grpo: ")
    assert first.endswith("from 2 seeds, too few to tell")
    assert all(line.startswith(("pass@4 of rloo", "distinct right of rloo")) for line in others)
