"""Rows of reward models that are no pairs: what a group is made of, and which row is unfit."""

from __future__ import annotations

import json

import pytest

from guerdon.chat import Chat
from guerdon.data.columns import column
from guerdon.methods.bradley_terry import bradley_terry
from guerdon.methods.regression_rm import regression_rm
from guerdon.models.load import load_policy
from guerdon.recipes import data
from guerdon.recipes.reward_rows import READINGS
from guerdon.tasks.files import BadRow


@pytest.fixture(scope="module")
def chat() -> Chat:
    return Chat(load_policy("tiny").tokenizer)


def read(tmp_path, chat, name, *rows, method=None):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    reading = READINGS[name].read
    return data.groups(str(path), data.beside(reading, method) if method else reading, chat)


def test_a_ranking_is_a_group_whose_returns_fall(tmp_path, chat):
    (group,) = read(tmp_path, chat, "ranked_rm", {"prompt": "1+1=", "ranked": ["2", "3", "44"]})
    assert [episode.scores["rank"].value for episode in group] == [0, -1, -2]
    assert [episode.reply for episode in group] == ["2", "3", "44"]


def test_steps_carry_their_labels_and_an_outcome_is_a_single_step(tmp_path, chat):
    row = {"prompt": "1+1+1=", "completions": ["1+1=2", "2+1=4"], "labels": [True, False]}
    ((steps,),) = read(tmp_path, chat, "process_rm", row)
    assert [span.extra["label"] for span in steps.spans if span.sampled] == [1.0, 0.0]
    ((whole,),) = read(tmp_path, chat, "outcome_rm", {"prompt": "1+1=", "completion": "2", "label": True})
    assert [(span.tokens.tolist(), span.extra["label"]) for span in whole.spans if span.sampled] == [([chat.end], 1.0)]


def test_scores_come_from_the_columns_that_the_method_names(tmp_path, chat):
    rows = [{"prompt": "1+1=", "completion": "2", "good": 3, "short": 0.5}]
    ((episode,),) = read(tmp_path, chat, "regression_rm", *rows, method=regression_rm("good,short"))
    assert episode.spans[-1].extra == {column("good"): 3.0, column("short"): 0.5}
    with pytest.raises(BadRow, match=r"row 1: .*no column 'bad'"):
        read(tmp_path, chat, "regression_rm", *rows, method=regression_rm("bad"))


def test_a_method_that_needs_no_column_is_read_as_before():
    assert data.beside(data.preference, bradley_terry()) is data.preference
    assert data.beside(data.preference, bradley_terry(soft="p")) is not data.preference
