"""Cases of data and budgets (F): odd Unicode and bad rows; the token budget of a rollout that was interrupted."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon import cli
from guerdon.chat import Chat
from guerdon.data.table import stored, table_of, usable
from guerdon.recipes.data import demonstration, groups
from guerdon.rollouts.base import Context
from guerdon.rollouts.tree import Branching
from guerdon.samplers.base import Sampling
from guerdon.samplers.local import LocalSampler
from guerdon.tasks.base import each
from guerdon.tasks.spec import load_tasks
from guerdon.types import Task
from tests.models.small import model, tokenizer

# --- C59: rows ---------------------------------------------------------------------------------------------------

GOOD = [{"prompt": f"p{i}", "answer": "1"} for i in range(10)]
LINE_ENDS = "\u2028\u2029\u0085\u000b\u000c\u001c\u001d\u001e"
"""Everything that str.splitlines takes for the end of a line, but the line feed and the carriage return."""


def write(path: Path, *rows: object) -> str:
    lines = [row if isinstance(row, bytes) else json.dumps(row, ensure_ascii=False).encode() for row in rows]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return str(path)


@pytest.mark.parametrize("odd", ["\u2028", "\u0085", *LINE_ENDS, "\x7f", "\ufeff", "\u200b"])
def test_c59_1_every_line_end_but_the_line_feed_is_text(odd: str, tmp_path: Path):
    text = f"before{odd}after"
    file = write(tmp_path / "a.jsonl", {"prompt": text, "answer": "1"}, *GOOD)
    table = table_of(stored(file), file)
    assert (table.total, table.rows[0].prompt) == (11, text)
    tasks = load_tasks(file)
    assert text in {task.prompt for task in (*each(tasks.train), *each(tasks.heldout))}


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda text: text.strip()))
def test_c59_1_any_text_survives_a_file(tmp_path_factory: pytest.TempPathFactory, text: str):
    file = write(tmp_path_factory.mktemp("rows") / "a.jsonl", {"prompt": text, "answer": text}, *GOOD)
    table = table_of(stored(file), file)
    assert (table.total, table.rows[0].prompt, table.rows[0].answer) == (11, text, text)


def test_c59_2_an_emoji_is_text_and_half_of_one_is_refused_by_row(tmp_path: Path):
    lines = [
        '{"prompt": "😀 \\ud83d\\ude00", "answer": "1"}'.encode(),
        b'{"prompt": "half: \\ud83d", "answer": "1"}',
        b'{"prompt": "q", "answer": ["\\udc00"]}',
        b'{"\\ud800": 1, "prompt": "q", "answer": "1"}',
    ]
    file = write(tmp_path / "a.jsonl", *GOOD, *lines)
    table = table_of(stored(file), file)
    assert table.rows[-1].prompt == "😀 😀"
    assert [fault.row for fault in table.bad] == [12, 13, 14]
    assert all("half a surrogate pair" in str(fault) for fault in table.bad)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"answer": "1"}, "no value under 'prompt'"),
    ({"prompt": None, "answer": "1"}, "no value under 'prompt'"),
    ({"prompt": [], "answer": "1"}, "'prompt' is empty"),
    (
        {
            "prompt": [
                {"role": "user", "content": "q"},
                {"role": "assistant", "content": "a"},
                {"role": "assistant", "content": "b"},
            ],
            "answer": "1",
        },
        "ends with the assistant's turn",
    ),
]


@pytest.mark.parametrize(("row", "reason"), REFUSED)
def test_c59_3_and_4_a_row_is_refused_with_its_reason_and_the_rest_is_kept(
    row: dict[str, Any], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = write(tmp_path / "a.jsonl", *GOOD[:4], row, *GOOD[4:])
    with pytest.raises(ValueError, match="row 5: ") as caught:
        load_tasks(file)
    assert reason in str(caught.value)
    with pytest.warns(UserWarning, match="1 of 11 rows of"):
        tasks = load_tasks(f"{file}?on_bad_rows=skip")
    assert tasks.train.size + tasks.heldout.size == 10
    assert "1 of 11 rows" in tasks.describe
    assert cli.run(["data", "check", file, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["bad_rows"][0]["row"] == 5
    assert cli.run(["data", "check", file, "--on-bad-rows", "skip"]) == 0


def test_c59_4_two_replies_at_the_end_cost_their_own_row_only(tmp_path: Path):
    talk = [{"role": role, "content": "1"} for role in ("user", "assistant")]
    twice = {"messages": [*talk, {"role": "assistant", "content": "2"}]}
    file = write(tmp_path / "a.jsonl", {"messages": talk}, twice, {"messages": talk * 2})
    chat = Chat(tokenizer())
    with pytest.raises(ValueError, match=r"row 2: messages\[2\] is the second of two assistant messages in a row"):
        groups(file, demonstration, chat)
    with pytest.warns(UserWarning, match="1 of 3 rows"):
        found = groups(f"{file}?on_bad_rows=skip", demonstration, chat)
    assert [group[0].task.id for group in found] == ["a.jsonl/1", "a.jsonl/3"]


@pytest.mark.parametrize(("tokens", "bad"), [(1022, []), (1023, []), (1024, [11]), (2000, [11])])
def test_c59_5_a_prompt_that_leaves_no_room_for_a_reply(
    tokens: int, bad: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = write(tmp_path / "a.jsonl", *GOOD, {"prompt": "1" * tokens, "answer": "1"})
    cli.run(["data", "check", file, "--model", "tiny", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [one["row"] for one in found["bad_rows"]] == bad
    assert found["usable"] == 11 - len(bad)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", b"  \r\n\t\n"])
def test_c59_6_an_empty_file_is_an_error(content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "a.jsonl"
    file.write_bytes(content)
    for use in (lambda: load_tasks(str(file)), lambda: groups(str(file), demonstration, Chat(tokenizer()))):
        with pytest.raises(ValueError, match="holds no rows"):
            use()
    assert cli.run(["data", "check", str(file), "--json"]) == 1
    assert "holds no rows" in json.loads(capsys.readouterr().out)["error"]


def test_c59_6_a_file_of_bad_rows_only_is_an_error_too(tmp_path: Path):
    file = write(tmp_path / "a.jsonl", b"{", b"[1]")
    with pytest.raises(ValueError, match=r"no row that can be used; the first fault: .* row 1"):
        load_tasks(f"{file}?on_bad_rows=skip")


def test_c59_7_the_last_100_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = write(tmp_path / "a.jsonl", *({"prompt": f"p{i}", "answer": str(i)} for i in range(1, 251)))
    tasks = load_tasks(f"{file}?rows=-100:")
    answers = {int(task.data["answer"]) for task in (*each(tasks.train), *each(tasks.heldout))}
    assert answers == set(range(151, 251))
    assert cli.run(["data", "check", file, "--rows", "-100:", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["preview"][0]["row"]) == (100, 151)
    assert [row.number for row in usable(table_of(stored(file, "-100:"), file), "error")] == list(range(151, 251))


# --- C57: budgets ------------------------------------------------------------------------------------------------

PROMPT = list(range(3, 13))


def interrupted(after: list[int], budget: int = 100) -> list[int]:
    """Tokens of each span of one completion of at most `budget`, when new weights come after these counts of tokens."""
    sampler = LocalSampler(model("llama", max_position_embeddings=512), tokenizer())

    async def main() -> list[int]:
        task = asyncio.create_task(sampler.sample(PROMPT, Sampling(max_tokens=budget), [7]))
        for count in after:
            while sampler.sampled_tokens < count and not task.done():
                await asyncio.sleep(0)
            sampler.load(None, sampler.version + 1)
        (sample,) = await task
        return [len(span.tokens) for span in sample.spans]

    return asyncio.run(main())


def test_c57_an_interrupted_completion_keeps_its_budget():
    assert interrupted([]) == [100]
    assert interrupted([60]) == [60, 40]


@settings(max_examples=6, deadline=None)
@given(st.lists(st.integers(1, 39), max_size=5, unique=True))
def test_c57_over_any_number_of_interruptions(after: list[int]):
    lengths = interrupted(sorted(after), budget=40)
    assert sum(lengths) == 40
    assert len(lengths) <= len(after) + 1  # two of them at once cut only once


@pytest.mark.parametrize(("trunk", "left"), [(60, 40), (1, 99), (99, 1), (100, 0), (400, 0)])
def test_c57_what_a_branch_may_add_is_what_its_trunk_left(trunk: int, left: int):
    torch.manual_seed(0)
    sampler = LocalSampler(model("llama", max_position_embeddings=512), tokenizer())
    context = Context({"policy": sampler}, Chat(tokenizer()), Sampling(max_tokens=100), n=2, seed=1)
    episodes = asyncio.run(Branching(trunk, trunks=1, branches=2)(Task("t", np.array(PROMPT)), context))
    for episode in episodes:
        for path in episode.paths():
            sampled = [len(episode.spans[i].tokens) for i in path if episode.spans[i].sampled]
            assert sum(sampled) == 100
            assert sum(sampled[1:]) == left
        assert episode.stop == "length"
