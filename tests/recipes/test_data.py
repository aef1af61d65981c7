"""Rows as groups: which tokens are learned, and what is said about rows that are unfit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from guerdon.chat import Chat
from guerdon.collate import collate
from guerdon.recipes.data import demonstration, groups, preference
from tests.models.small import tokenizer
from tests.test_chat import REWRITING
from tests.test_chat import tokenizer as ascii_tokenizer

CHAT = Chat(tokenizer())


def write(tmp_path: Path, *rows: object) -> str:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return str(file)


def learned(episode) -> list[str]:
    return [CHAT.decode_all(span.tokens) for span in episode.spans if span.sampled]


def given(episode) -> list[str]:
    return [CHAT.decode_all(span.tokens) for span in episode.spans if not span.sampled]


def test_the_completion_is_learned_with_its_end_token(tmp_path: Path):
    (group,) = groups(write(tmp_path, {"prompt": "1+2=", "completion": "3"}), demonstration, CHAT)
    (episode,) = group
    assert given(episode) == ["1+2="]
    assert learned(episode) == ["3<end>"]
    assert [span.parent for span in episode.spans] == [-1, 0]
    assert episode.reply == "3"
    batch = collate([group])
    assert batch.mask.tolist() == [False] * 4 + [True] * 2
    assert not np.any(batch.behavior.numpy())


def test_every_reply_of_a_conversation_is_learned():
    roles = [("user", "1="), ("assistant", "1"), ("user", "2="), ("assistant", "2")]
    row = {"messages": [{"role": role, "content": text} for role, text in roles]}
    (episode,) = demonstration(row, CHAT, "x/1")
    assert given(episode) == ["1=", "2="]
    assert learned(episode) == ["1<end>", "2<end>"]
    assert [span.parent for span in episode.spans] == [-1, 0, 1, 2]


def test_a_pair_differs_in_its_return_by_the_margin():
    row = {"prompt": "1+2=", "chosen": "3", "rejected": "4", "margin": 0.5}
    better, worse = preference(row, CHAT, "x/1")
    assert (learned(better), learned(worse)) == (["3<end>"], ["4<end>"])
    assert better.scores["preference"].total() - worse.scores["preference"].total() == 0.5


def test_whole_conversations_may_be_compared():
    def talk(reply: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": "1="}, {"role": "assistant", "content": reply}]

    better, worse = preference({"chosen": talk("1"), "rejected": talk("2")}, CHAT, "x/1")
    assert (given(better), learned(better), learned(worse)) == (["1="], ["1<end>"], ["2<end>"])


@pytest.mark.parametrize(
    ("row", "read", "said"),
    [
        ("{not json", demonstration, "rows.jsonl, row 2"),
        (
            {"prompt": "1"},
            demonstration,
            "rows.jsonl, row 2: no value under 'completion', it has ['prompt']; expected 'prompt' and",
        ),
        ({"prompt": 3, "completion": "x"}, demonstration, "row 2: 'prompt' is a int; expected text"),
        ({"prompt": "1", "chosen": "2"}, preference, "no value under 'rejected', it has ['chosen', 'prompt']"),
        ({"prompt": "1", "chosen": "2", "rejected": "2"}, preference, "are the same"),
        ({"chosen": "2", "rejected": "3"}, preference, "there is no 'prompt'"),
        (
            {"prompt": "1", "chosen": "2", "rejected": "3", "margin": "big"},
            preference,
            "row 2: the margin is 'big'; expected a number",
        ),
    ],
)
def test_an_unfit_row_is_named(tmp_path: Path, row: object, read, said: str):
    good = {"prompt": "1+2=", "completion": "3", "chosen": "3", "rejected": "4"}
    with pytest.raises(ValueError, match="row") as caught:
        groups(write(tmp_path, good, row), read, CHAT)
    assert said in str(caught.value)


def test_a_text_is_learned_from_its_second_token_on():
    (episode,) = demonstration({"text": "1+2=3"}, CHAT, "x/1")
    assert (given(episode), learned(episode)) == (["1"], ["+2=3<end>"])
    with_begin = Chat(ascii_tokenizer(bos=True))
    (episode,) = demonstration({"text": "ab"}, with_begin, "x/1")
    assert [with_begin.decode_all(span.tokens) for span in episode.spans] == ["<|b|>", "ab<|end|>"]


def test_other_layouts_are_learned_the_same():
    shared = {"conversations": [{"from": "human", "value": "1="}, {"from": "gpt", "value": "1"}]}
    rows = [shared, {"instruction": "1=", "input": "", "output": "1"}, {"prompt": "1=", "completion": "1"}]
    for row in rows:
        (episode,) = demonstration(row, CHAT, "x/1")
        assert (given(episode), learned(episode)) == (["1="], ["1<end>"])


def test_columns_rows_and_bad_rows_are_said_after_the_name(tmp_path: Path):
    rows = [{"question": f"{i}=", "answer": str(i)} for i in range(5)]
    file = write(tmp_path, *rows, {"question": 3, "answer": "3"}, "{")
    named = f"{file}?prompt=question&completion=answer"
    with pytest.raises(ValueError, match=r"rows\.jsonl, row 6: 'question' is a int"):
        groups(named, demonstration, CHAT)
    with pytest.warns(UserWarning, match=r"2 of 7 rows of .* skipped, the first because of: .*row 6"):
        found = groups(f"{named}&on_bad_rows=skip", demonstration, CHAT)
    assert [group[0].task.id for group in found] == [f"rows.jsonl/{i}" for i in range(1, 6)]
    found = groups(f"{named}&rows=1:3", demonstration, CHAT)
    assert [learned(group[0]) for group in found] == [["1<end>"], ["2<end>"]]
    with pytest.raises(ValueError, match="has no option 'shuffle'"):
        groups(f"{named}&shuffle=true", demonstration, CHAT)
    with pytest.raises(ValueError, match="on_bad_rows is 'drop'"):
        groups(f"{named}&on_bad_rows=drop", demonstration, CHAT)


def test_a_row_that_the_chat_cannot_write_is_bad_like_any_other(tmp_path: Path):
    chat = Chat(ascii_tokenizer(REWRITING))
    talk = [{"role": role, "content": role} for role in ("user", "assistant", "user", "assistant")]
    file = write(tmp_path, {"messages": talk[:2]}, {"messages": talk})
    with pytest.raises(ValueError, match=r"row \d: message 1: the chat template is not append-only"):
        groups(file, demonstration, chat)
    plain = Chat(ascii_tokenizer(REWRITING), template=False)
    assert len(groups(file, demonstration, plain)) == 2
