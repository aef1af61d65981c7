"""Stored rows as typed ones: every part checked, every refusal with its reason."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon.data.row import Row, content, plain
from guerdon.data.table import table_of
from guerdon.tasks.files import Numbered

USER, REPLY = {"role": "user", "content": "q"}, {"role": "assistant", "content": "r"}
OTHER = {"role": "assistant", "content": "s"}


def read(row: dict[str, Any], **settings: Any) -> Row:
    table = table_of([Numbered(7, row)], "x.jsonl", **settings)
    if table.bad:
        raise table.bad[0]
    return table.rows[0]


def test_every_layout_becomes_the_same_row():
    assert read({"prompt": "q", "completion": "r", "k": 1}) == Row(7, prompt="q", completion="r", data={"k": 1})
    assert read({"text": "t"}) == Row(7, text="t")
    assert read({"messages": [USER, REPLY]}) == Row(7, messages=[USER, REPLY])
    assert read({"prompt": "q", "completion": "r", "label": False}).label is False
    assert read({"prompt": "q", "completions": ["a", "b"], "labels": [True, False]}).steps == (
        ("a", True),
        ("b", False),
    )
    assert read({"instruction": "do", "input": "x", "output": "y"}) == Row(7, prompt="do\n\nx", completion="y")
    assert read({"instruction": "do", "input": "", "output": "y"}).prompt == "do"
    shared = {"conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "r"}]}
    assert read(shared).messages == [USER, REPLY]


def test_the_answers_column_stays_in_the_data_under_its_name():
    row = read({"question": "q", "solution": "7", "level": 2})
    assert (row.prompt, row.answer, dict(row.data)) == ("q", "7", {"solution": "7", "level": 2})
    verl = read({"prompt": [USER], "reward_model": {"ground_truth": 7}, "data_source": "d"})
    assert (verl.prompt, verl.answer) == ([USER], 7)
    assert dict(verl.data) == {"reward_model": {"ground_truth": 7}, "data_source": "d"}


def test_pairs_with_and_without_their_prompt():
    explicit = read({"prompt": "q", "chosen": "r", "rejected": "s", "margin": 2})
    assert (explicit.prompt, explicit.chosen, explicit.rejected, explicit.margin) == ("q", "r", "s", 2.0)
    implicit = read({"chosen": [USER, REPLY], "rejected": [USER, OTHER]})
    assert (implicit.prompt, implicit.chosen) == (None, [USER, REPLY])
    repeated = read({"prompt": "q", "chosen": [USER, REPLY], "rejected": [USER, OTHER]})
    assert (repeated.prompt, repeated.chosen, repeated.rejected) == ("q", [REPLY], [OTHER])


BAD: list[tuple[dict[str, Any], str]] = [
    ({"prompt": "", "completion": "r"}, "'prompt' is empty; expected text, or a list of messages"),
    ({"prompt": " \n", "completion": "r"}, "'prompt' is a str; expected text"),
    ({"prompt": [USER, REPLY], "completion": "r"}, "'prompt' ends with the assistant's turn"),
    ({"prompt": "q", "completion": 3}, "'completion' is a int"),
    ({"prompt": "q", "completion": [USER]}, "has no message of the assistant, so there is nothing to learn"),
    ({"prompt": "q", "completion": [REPLY, USER]}, "'completion' ends with a message of the role 'user'"),
    ({"messages": [USER, REPLY, OTHER]}, "messages[2] is the second of two assistant messages in a row"),
    ({"messages": [{"role": "user", "content": 3}, REPLY]}, "messages[0] has the content 3"),
    ({"messages": ["q", REPLY]}, "messages[0] is no object"),
    ({"messages": [{"role": "robot", "content": "q"}, REPLY]}, "messages[0] has the role 'robot'"),
    ({"conversations": [{"from": "bing", "value": "q"}, {"from": "gpt", "value": "r"}]}, "has the role 'bing'"),
    ({"text": " "}, "'text' is a str; expected text"),
    ({"prompt": "q", "chosen": "r", "rejected": "r"}, "chosen and rejected are the same"),
    ({"chosen": "r", "rejected": "s"}, "there is no 'prompt', and a reply is text"),
    ({"chosen": [USER, REPLY], "rejected": [{**USER, "content": "z"}, OTHER]}, "differ before their last reply"),
    ({"prompt": "q", "chosen": "r", "rejected": "s", "margin": 0}, "the margin is 0; expected a number above 0"),
    ({"prompt": "q", "chosen": "r", "rejected": "s", "margin": float("nan")}, "the margin is nan"),
    ({"prompt": "q", "chosen": "r", "rejected": "s", "margin": [1]}, "the margin is [1]"),
    ({"prompt": "q", "completion": "r", "label": 1}, "the label is 1; expected true or false"),
    ({"prompt": "q", "completions": ["a"], "labels": [True, False]}, "1 completions and 2 labels"),
    ({"prompt": "q", "completions": ["a"], "labels": ["+"]}, "are not lists of text and of true or false"),
    ({"prompt": "q", "completions": [], "labels": []}, "are not lists of text"),
    ({"question": "q", "answer": []}, "no value under 'answer'; expected an answer"),
]


@pytest.mark.parametrize(("row", "said"), BAD)
def test_a_bad_part_is_named(row: dict[str, Any], said: str):
    with pytest.raises(ValueError, match=r"x\.jsonl, row 7: ") as caught:
        read(row)
    assert said in str(caught.value)


def test_what_is_asked_is_what_the_user_said():
    system = {"role": "system", "content": "the same for all"}
    assert Row(1, prompt=[system, USER]).asked == "q"
    assert Row(1, messages=[system, USER, REPLY, {**USER, "content": "more"}]).asked == "q\nmore"
    assert Row(1, prompt=[system]).asked == "the same for all"
    assert Row(1, chosen=[USER, REPLY]).asked == "q"
    assert Row(1, text="t").asked == "t"
    assert Row(1).asked == ""


def test_values_as_people_read_them():
    parts = {
        "role": "user",
        "content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}],
    }
    assert content(parts) == "ab"
    assert content({"role": "assistant", "content": None}) == ""
    assert plain([USER, REPLY]) == "user: q\nassistant: r"
    assert (plain("é"), plain(["é", 2]), plain(7)) == ("é", '["é", 2]', "7")
