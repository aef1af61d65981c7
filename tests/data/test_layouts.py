"""Which layout rows have: told by columns, refused where two fit."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon.data.layouts import ALL, DEMONSTRATIONS, PREFERENCES, TASKS, find_layout, value_of

ASKED = [{"role": "user", "content": "q"}]
TALK = [*ASKED, {"role": "assistant", "content": "r"}]
VERL = {
    "data_source": "openai/gsm8k",
    "prompt": ASKED,
    "ability": "math",
    "reward_model": {"style": "rule", "ground_truth": "72"},
    "extra_info": {"index": 0, "answer": "48/2 = 24"},
}

SHARED = [{"from": "human", "value": "q"}, {"from": "gpt", "value": "r"}]
LAYOUTS: list[tuple[dict[str, Any], str, str]] = [
    ({"prompt": "q"}, "prompt-only", "prompt"),
    ({"prompt": ASKED}, "prompt-only", "prompt"),
    ({"messages": ASKED}, "prompt-only", "prompt=messages"),
    ({"messages": TALK}, "messages", "messages"),
    ({"messages": TALK, "source": "web"}, "messages", "messages"),
    ({"conversations": SHARED}, "messages", "messages=conversations"),
    ({"text": "all of it"}, "text", "text"),
    ({"prompt": "q", "completion": "r"}, "prompt-completion", "prompt completion"),
    ({"prompt": ASKED, "completion": TALK[1:]}, "prompt-completion", "prompt completion"),
    ({"prompt": "q", "chosen": "a", "rejected": "b"}, "preference", "prompt chosen rejected"),
    ({"chosen": TALK, "rejected": TALK}, "preference", "chosen rejected"),
    ({"prompt": "q", "completion": "r", "label": True}, "unpaired-preference", "prompt completion label"),
    ({"prompt": "q", "completions": ["a"], "labels": [True]}, "stepwise", "prompt completions labels"),
    (VERL, "verl", "prompt answer=reward_model.ground_truth"),
    ({"question": "q", "answer": "a\n#### 7"}, "question-answer", "prompt=question answer"),
    ({"problem": "q", "solution": "a", "level": 3}, "question-answer", "prompt=problem answer=solution"),
    ({"messages": ASKED, "answer": "7"}, "question-answer", "prompt=messages answer"),
    ({"instruction": "q", "input": "", "output": "r"}, "instruction", "instruction input output"),
    ({"instruction": "q", "output": "r"}, "instruction", "instruction output"),
]


@pytest.mark.parametrize(("row", "name", "columns"), LAYOUTS)
def test_the_layout_is_told_by_its_columns(row: dict[str, Any], name: str, columns: str):
    found = find_layout([row] * 3, "x.jsonl")
    pairs = (word.partition("=") for word in columns.split())
    assert (found.name, dict(found.columns)) == (name, {field: column or field for field, _, column in pairs})


@pytest.mark.parametrize(
    ("row", "both"),
    [
        ({"prompt": "q", "completion": "r", "answer": "a"}, ("question-answer", "prompt-completion")),
        ({"prompt": "q", "completion": "r", "chosen": "a", "rejected": "b"}, ("prompt-completion", "preference")),
        ({"text": "t", "messages": TALK}, ("messages", "text")),
        ({"prompt": "q", "messages": TALK, "answer": "a"}, ("question-answer", "messages")),
        ({**VERL, "answer": "72"}, ("question-answer", "verl")),
    ],
)
def test_two_readings_are_an_error_that_lists_them(row: dict[str, Any], both: tuple[str, str]):
    with pytest.raises(ValueError, match="can be read in 2 ways") as caught:
        find_layout([row], "x.jsonl")
    assert all(f"{name} (" in str(caught.value) for name in both)
    assert str(sorted(row)) in str(caught.value)
    for name in both:
        assert find_layout([row], "x.jsonl", named=name).name == name


def test_what_is_wanted_or_named_decides_between_two():
    row = {"prompt": "q", "completion": "r", "chosen": "a", "rejected": "b", "answer": "7"}
    assert find_layout([row], "x", TASKS).name == "question-answer"
    assert find_layout([row], "x", DEMONSTRATIONS).name == "prompt-completion"
    assert find_layout([row], "x", PREFERENCES).name == "preference"
    named = find_layout([row], "x", ALL, {"completion": "answer"})
    assert (named.name, named.columns["completion"]) == ("prompt-completion", "answer")


def test_a_label_of_a_completion_is_no_answer_and_an_input_beside_an_instruction_no_prompt():
    assert find_layout([{"prompt": "q", "completion": "r", "label": True}], "x", TASKS).name == "prompt-only"
    with pytest.raises(ValueError, match="no prompt column: found"):
        find_layout([{"instruction": "q", "input": "i", "output": "r"}], "x", TASKS)


def test_columns_may_lie_inside_others():
    found = find_layout([VERL], "x", TASKS, {"answer": "extra_info.answer"})
    assert found.columns["answer"] == "extra_info.answer"
    assert value_of(VERL, "extra_info.answer") == "48/2 = 24"
    assert value_of({"a.b": 1, "a": {"b": 2}}, "a.b") == 1
    assert value_of({"a": None}, "a.b") is None
    assert "prompt" not in found.data(VERL)
    assert found.data(VERL)["reward_model"] == VERL["reward_model"]


def test_a_column_counts_when_half_of_the_rows_have_it_and_one_a_value():
    rows = [{"prompt": "q", "answer": "a", "completion": None}, {"prompt": "q"}]
    assert find_layout(rows, "x").name == "question-answer"
    assert find_layout([*rows, {"prompt": "q"}], "x").name == "prompt-only"


@pytest.mark.parametrize(
    ("row", "settings", "said"),
    [
        (
            {"body": "t"},
            {},
            "fits no layout: found the columns ['body']; expected one of question-answer (prompt,",
        ),
        ({"prompt": "q"}, {"named": "preference"}, "has no chosen column: found ['prompt'], looked for chosen"),
        ({"prompt": "q"}, {"named": "preferences"}, "there is no layout 'preferences'; did you mean 'preference'"),
        ({"prompt": "q"}, {"columns": {"answer": "anwser"}}, "has no column 'anwser'"),
        ({"prompt": "q"}, {"columns": {"anser": "prompt"}}, "there is no field 'anser'; did you mean 'answer'"),
        (
            {"q": "q"},
            {"columns": {"answer": "q"}, "among": TASKS},
            "has no prompt column: found ['q'], looked",
        ),
        ({"a": "q"}, {"columns": {"label": "a"}}, "with the fields ['label'] named"),
    ],
)
def test_what_does_not_fit_is_said(row: dict[str, Any], settings: dict[str, Any], said: str):
    with pytest.raises(ValueError, match=r"x\.jsonl|layout") as caught:
        find_layout([row], "x.jsonl", **settings)
    assert said in str(caught.value)
