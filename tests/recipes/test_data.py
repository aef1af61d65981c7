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
