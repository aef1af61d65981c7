"""Rows: the same for a seed, no prompt in both parts, read in their layout, and true in what they say is true."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from guerdon.data.layouts import PREFERENCES
from guerdon.data.table import stored, table_of
from guerdon.synthetic import requests as english
from guerdon.synthetic import steps as chains
from guerdon.synthetic import sums as characters
from guerdon.synthetic.kinds import KINDS, requests, steps, sums, write

GOLD = {"requests": english.gold, "sums": characters.gold}
MADE: dict[str, Any] = {
    "preference": lambda: requests(60, 30, minority=0.3, ties=0.4, cycle=1.0, score_noise=0.5),
    "unpaired-preference": lambda: requests(60, 30, layout="unpaired-preference", minority=0.3, ties=0.4),
    "prompt-completion": lambda: sums(60, 30, layout="regression"),
    "stepwise": lambda: steps(60, 30, per_prompt=3, lucky=0.5, flip=0.1),
    "sums": lambda: sums(60, 30, length_bias=0.3),
}


@pytest.mark.parametrize("name", MADE)
def test_equal_seeds_give_equal_bytes(name: str, tmp_path: Path):
    for place in ("a", "b"):
        made = MADE[name]()
        write([*made.train, *made.heldout], tmp_path / f"{place}.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert len((tmp_path / "a.jsonl").read_text().splitlines()) == 90


@pytest.mark.parametrize("name", KINDS)
def test_another_seed_gives_others_and_more_rows_begin_with_the_same(name: str):
    few, many, other = (KINDS[name](rows=rows, heldout=5, seed=seed) for rows, seed in ((20, 0), (40, 0), (20, 1)))
    assert few.train == many.train[:20]
    assert few.train != other.train


def test_rows_without_ties_in_between_begin_with_the_same_too():
    few, many = (requests(rows, 5, ties=1.0) for rows in (20, 40))
    assert few.train == many.train[:20]
    assert few.report["ties"] > 0


@pytest.mark.parametrize("name", MADE)
def test_no_prompt_is_in_both_parts(name: str):
    made = MADE[name]()
    assert not {row["prompt"] for row in made.train} & {row["prompt"] for row in made.heldout}


@pytest.mark.parametrize("name", MADE)
def test_every_layout_is_read(name: str, tmp_path: Path):
    made = MADE[name]()
    write(made.train, tmp_path / "x.jsonl")
    table = table_of(stored(str(tmp_path / "x.jsonl")), "x.jsonl")
    layout = {"sums": "preference"}.get(name, name)
    assert (table.layout.name, table.bad, len(table.rows)) == (layout, [], 60)
    for row, typed in zip(made.train, table.rows, strict=True):
        assert typed.prompt == row["prompt"]
        assert {key for key in row if key.startswith("true_")} <= set(typed.data)
        if layout == "preference":
            assert (typed.chosen, typed.rejected, typed.margin) == (row["chosen"], row["rejected"], row["margin"])


def test_pairs_are_learned_from(tmp_path: Path):
    from transformers import AutoTokenizer

    from guerdon.chat import Chat
    from guerdon.models.tiny import FOLDER
    from guerdon.recipes.data import groups, preference

    write(sums(10, 5).train, tmp_path / "x.jsonl")
    found = groups(str(tmp_path / "x.jsonl"), preference, Chat(AutoTokenizer.from_pretrained(FOLDER)))
    assert [len(group) for group in found] == [2] * 10
    assert PREFERENCES == ("preference",)


@pytest.mark.parametrize(("kind", "gold"), GOLD.items())
def test_gold_says_the_same_when_it_is_asked_again(kind: str, gold):
    for row in KINDS[kind](rows=50, heldout=5).train:
        for one in ("chosen", "rejected"):
            assert gold(row["prompt"], row[one]) == pytest.approx(row[f"true_{one}"], abs=1e-6)
    for row in KINDS[kind](rows=50, heldout=5, layout="regression").train:
        assert gold(row["prompt"], row["completion"]) == pytest.approx(row["true_quality"], abs=1e-6)
    for row in steps(50, 5, lucky=0.5, flip=0.3).train:
        found = chains.gold(row["prompt"], row["completions"])
        assert (list(found.labels), found.first_error) == (row["true_labels"], row["true_first_error"])


@pytest.mark.parametrize("settings", [{}, {"flip": 0.2}, {"length_bias": 1.0}, {"cycle": 2.0}, {"minority": 0.4}])
def test_labels_are_as_likely_as_they_say(settings: dict[str, float]):
    made = requests(10, 800, **settings)
    p = [row["true_probability"] for row in made.heldout]
    spread = sum(one * (1 - one) for one in p) ** 0.5
    likelier = sum(one > 0.5 for one in p) + 0.5 * sum(one == 0.5 for one in p)
    assert abs(likelier - sum(max(one, 1 - one) for one in p)) < 4.5 * spread
    assert made.report["bayes_accuracy"] == pytest.approx(sum(max(one, 1 - one) for one in p) / 800, abs=1e-5)
    assert made.report["likelier"] == pytest.approx(likelier / 800, abs=0.01)


def test_single_labels_are_as_likely_as_they_say():
    rows = requests(10, 800, layout="unpaired-preference", minority=0.3, ties=0.5).heldout
    p = [row["true_probability"] for row in rows]
    assert abs(sum(row["label"] for row in rows) - sum(p)) < 4.5 * sum(one * (1 - one) for one in p) ** 0.5


def test_scores_are_quality_with_noise_of_the_asked_spread():
    import numpy as np

    made = sums(10, 3000, layout="regression", score_noise=0.3)
    off = np.array([row["score"] - row["true_quality"] for row in made.heldout])
    assert (off.mean(), off.std()) == (pytest.approx(0, abs=0.02), pytest.approx(0.3, abs=0.02))
    assert made.report["bayes_mse"] == pytest.approx(0.09)


def test_what_the_truth_reaches_is_less_where_labels_follow_something_else():
    plain, biased, circles = (requests(10, 500, **one).report for one in ({}, {"length_bias": 1.5}, {"cycle": 3.0}))
    assert plain["gold_accuracy"] == pytest.approx(plain["bayes_accuracy"])
    for one in (biased, circles):
        assert one["gold_accuracy"] < one["bayes_accuracy"] - 0.03
    grouped = requests(10, 500, minority=0.4).report
    assert grouped["bayes_accuracy_by_group"] > grouped["bayes_accuracy"] + 0.02


def test_replies_differ_by_the_least_gap():
    assert all(abs(row["true_chosen"] - row["true_rejected"]) >= 1.5 for row in requests(50, 5, min_gap=1.5).train)
    assert all(row["chosen"] != row["rejected"] for row in sums(200, 5, min_gap=0.0).train)


def test_solutions_of_one_prompt_stand_together():
    rows = steps(12, 4, per_prompt=4).train
    assert [len({row["prompt"] for row in rows[i : i + 4]}) for i in (0, 4, 8)] == [1, 1, 1]
    assert len({row["prompt"] for row in rows}) == 3
    assert len({json.dumps(row["completions"]) for row in rows}) > 3


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: requests(0), "rows is 0"),
        (lambda: requests(5, 5, minority=1.0), "minority is 1.0; expected 0 to below 1"),
        (lambda: requests(5, 5, min_gap=50.0), "no two replies differ in quality by min_gap = 50"),
        (lambda: requests(5, 5, ties=1e9), "are ties; lower `ties`"),
        (lambda: requests(5, 5, score_noise=-1.0), "score_noise is -1.0"),
        (lambda: steps(5, 5, flip=0.7), "flip is 0.7; expected 0 to 0.5"),
        (lambda: steps(5, 5, per_prompt=0), "per_prompt is 0"),
    ],
)
def test_what_cannot_be_made_is_said(make, said: str):
    with pytest.raises(ValueError, match=said):
        make()
