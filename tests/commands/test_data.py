"""`guerdon data check`: what it says, its object and its exit status, on files with something wrong in each way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from guerdon import cli

KEYS = {
    "file", "layout", "learned", "columns", "data", "rows", "usable", "bad_rows", "preview", "characters", "tokens",
    "duplicates", "conflicts", "gold", "overlap", "probe", "model", "problems",
}  # fmt: skip
SUMS = [{"question": f"{i}+1=", "answer": str(i + 1), "level": 1} for i in range(1, 5)]


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def check(capsys: pytest.CaptureFixture[str], file: object, *words: object) -> tuple[int, dict[str, Any], str]:
    status = cli.run(["data", "check", *map(str, (file, *words)), "--json"])
    captured = capsys.readouterr()
    return status, json.loads(captured.out.splitlines()[-1]), captured.err


def test_good_rows_are_understood(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    status, found, said = check(capsys, write(tmp_path / "a.jsonl", *SUMS))
    assert (status, set(found)) == (0, KEYS)
    assert (found["layout"], found["columns"]) == ("question-answer", {"prompt": "question", "answer": "answer"})
    assert (found["rows"], found["usable"], found["bad_rows"], found["data"]) == (4, 4, [], ["level"])
    assert found["preview"] == [
        {"row": 1, "parts": [{"of": "prompt", "learned": False, "text": "1+1="}], "answer": "2"}
    ]
    assert found["characters"]["prompt"] == {"min": 4, "median": 4, "p95": 4, "max": 4}
    assert found["gold"] == {"by": "math", "tested": 4, "failed": []}
    assert found["tokens"] is found["overlap"] is found["probe"] is None
    assert "layout question-answer" in said
    assert "read: prompt from question, answer; kept as data: level" in said
    assert "answers: 4 of 4 are right" in said


def test_bad_rows_fail_the_check_unless_they_are_to_be_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = write(tmp_path / "a.jsonl", SUMS[0], "{", {"question": "", "answer": "2"}, SUMS[1], {"answer": "2"})
    status, found, said = check(capsys, file)
    assert (status, found["kind"], set(found)) == (1, "UnfitData", KEYS | {"error", "kind"})
    assert [one["row"] for one in found["bad_rows"]] == [2, 3, 5]
    assert found["bad_rows"][1]["reason"] == "'question' is empty; expected text, or a list of messages"
    assert found["problems"] == ["bad rows: 3 of 5"]
    assert "bad row 2: malformed JSON" in said
    for words in (["--on-bad-rows", "skip"], []):
        status, found, _ = check(capsys, file if words else f"{file}?on_bad_rows=skip", *words)
        assert (status, found["problems"], len(found["bad_rows"]), found["usable"]) == (0, [], 3, 2)


def test_with_a_model_rows_are_shown_as_they_are_learned(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pairs = write(tmp_path / "pairs.jsonl", {"prompt": "1+1=", "chosen": "2", "rejected": "11"})
    _, found, said = check(capsys, pairs, "--model", "tiny")
    assert found["preview"][0]["parts"] == [
        {"of": "chosen", "learned": False, "text": "1+1="},
        {"of": "chosen", "learned": True, "text": "2<|end|>"},
        {"of": "rejected", "learned": False, "text": "1+1="},
        {"of": "rejected", "learned": True, "text": "11<|end|>"},
    ]
    assert (found["tokens"]["prompt"]["max"], found["tokens"]["target"]["max"]) == (4, 3)
    assert "chosen, learned      '2<|end|>'" in said
    talk = [{"role": role, "content": text} for role, text in (("user", "1="), ("assistant", "1")) * 2]
    _, found, _ = check(capsys, write(tmp_path / "talk.jsonl", {"messages": talk}), "--model", "tiny")
    assert [(part["learned"], part["text"]) for part in found["preview"][0]["parts"]] == [
        (False, "1="),
        (True, "1<|end|>"),
        (False, "1="),
        (True, "1<|end|>"),
    ]
    steps = {"prompt": "1+1=", "completions": ["a", "b"], "labels": [True, False]}
    _, found, said = check(capsys, write(tmp_path / "steps.jsonl", steps))
    assert [(part["of"], part["learned"]) for part in found["preview"][0]["parts"][1:]] == [
        ("step", True),
        ("step", False),
    ]
    assert "wrong" in said
    assert check(capsys, tmp_path / "steps.jsonl", "--model", "tiny")[0] == 0


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "1+1="},
        {"prompt": [{"role": "user", "content": "1+1="}], "reward_model": {"ground_truth": "2"}},
        {"prompt": "1", "completion": "2", "label": True},
        {"text": "1+1=2"},
        {"chosen": [{"role": "user", "content": "1"}, {"role": "assistant", "content": "2"}],
         "rejected": [{"role": "user", "content": "1"}, {"role": "assistant", "content": "3"}]},
        {"instruction": "1", "input": "2", "output": "3"},
    ],
)  # fmt: skip
def test_every_layout_can_be_checked_with_and_without_a_model(
    row: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = write(tmp_path / "a.jsonl", row)
    for words in ([], ["--model", "tiny"]):
        status, found, _ = check(capsys, file, *words)
        assert (status, found["usable"]) == (0, 1)
        assert found["preview"][0]["parts"]


def test_rows_that_are_too_long_are_bad(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = write(
        tmp_path / "a.jsonl", *SUMS, {"question": "1" * 1024, "answer": "1"}, {"question": "11+1=", "answer": "12"}
    )
    status, found, _ = check(capsys, file, "--model", "tiny")
    assert status == 1
    assert found["bad_rows"] == [
        {"row": 5, "reason": "a prompt of 1024 tokens leaves no room for a reply; expected below 1024"}
    ]
    _, found, _ = check(capsys, file, "--model", "tiny", "--max-prompt-tokens", "4")
    assert [one["row"] for one in found["bad_rows"]] == [5, 6]
    assert found["bad_rows"][1]["reason"] == "a prompt of 5 tokens; expected at most 4"
    learned = write(tmp_path / "b.jsonl", {"prompt": "1" * 900, "completion": "2" * 900})
    _, found, _ = check(capsys, learned, "--model", "tiny")
    assert found["bad_rows"][0]["reason"] == "1801 tokens in all; expected at most 1024, the model's positions"


def test_repeated_rows_are_told_and_do_not_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = write(tmp_path / "a.jsonl", *SUMS, SUMS[0], {"question": "2+1=", "answer": "4"})
    status, found, said = check(capsys, file)
    assert (status, found["duplicates"], found["conflicts"]) == (0, [[1, 5]], [[2, 6]])
    assert "the same row twice: rows 1, 5" in said
    assert "one prompt, different targets: rows 2, 6" in said


def test_answers_that_cannot_be_graded_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = write(tmp_path / "a.jsonl", *SUMS, {"question": "x", "answer": r"\frac{1}{"})
    status, found, _ = check(capsys, file)
    assert (status, [one["row"] for one in found["gold"]["failed"]]) == (1, [5])
    assert found["problems"] == ["answers that are not graded as right: 1"]
    status, found, _ = check(capsys, file, "--reward", "exact")
    assert (status, found["gold"]) == (0, {"by": "exact", "tested": 5, "failed": []})


def test_what_is_evaluated_on_is_found_in_training_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    long = "Tom has three apples and buys four more apples at the market"
    test = write(tmp_path / "test.jsonl", {"question": long, "answer": "7"}, {"question": "1+1=", "answer": "2"})
    train = write(
        tmp_path / "train.jsonl", {"prompt": "Say: " + long, "answer": "7"}, {"prompt": "1-1=", "answer": "0"}
    )
    status, found, said = check(capsys, train, "--against", test)
    assert status == 1
    assert found["overlap"]["hits"] == [{"row": 1, "held": "row 1", "share": 1.0}]
    assert (found["overlap"]["prompts"], found["overlap"]["matched"], found["overlap"]["mean"]) == (2, 1, 0.5)
    assert found["problems"] == ["rows that hold what is evaluated on: 1"]
    assert "row 1 covers 100% of row 1" in said
    status, found, _ = check(capsys, train, "--against", "arithmetic")
    assert (status, found["overlap"]["hits"]) == (0, [])
    assert found["overlap"]["prompts"] > 10


def test_two_readings_are_settled_by_a_layout_or_a_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = write(tmp_path / "a.jsonl", {"prompt": "1", "completion": "2", "answer": "3"})
    status, found, _ = check(capsys, file)
    assert (status, found["kind"]) == (1, "ValueError")
    assert "can be read in 2 ways: question-answer (prompt, answer); prompt-completion" in found["error"]
    assert check(capsys, file, "--layout", "prompt-completion")[1]["layout"] == "prompt-completion"
    assert check(capsys, f"{file}?layout=question-answer")[1]["layout"] == "question-answer"
    _, found, _ = check(capsys, file, "--column", "prompt=completion", "--column", "answer=answer")
    assert found["columns"] == {"prompt": "completion", "answer": "answer"}


def test_a_model_that_is_asked_for_problems_by_heart(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = write(tmp_path / "a.jsonl", {"question": "1 + 2 + 3 =", "answer": "6"})
    status, found, said = check(capsys, file, "--model", "tiny", "--probe", "1")
    assert status == 0
    assert [one["share"] for one in found["probe"]] == [80, 60, 40]
    assert all(0 <= one["exact"] <= 1 and one["n"] == 1 for one in found["probe"])
    assert "given 80% of a problem" in said


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--max-prompt-tokens", "5"], 2, "need --model"),
        (["--probe", "3"], 2, "need --model"),
        (["--column", "prompt"], 2, "--column is 'prompt'; expected field=column"),
        (["--column", "prompt=qestion"], 1, "has no column 'qestion'; did you mean 'question'"),
        (["--layout", "dpo"], 1, "there is no layout 'dpo'"),
        (["--on-bad-rows", "ignore"], 1, "on_bad_rows is 'ignore'; expected 'error' or 'skip'"),
        (["--rows", "7:"], 1, "rows 7: leaves none of its 4 rows"),
        (["--rows", "last"], 1, "rows is 'last'; expected first:last"),
        (["--reward", "nope"], 1, "there is no reward 'nope'"),
        (["--model", "no/such/folder"], 1, "no/such/folder"),
    ],
)
def test_what_is_wrong_with_the_words_is_said(
    words: list[str], status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    code, found, error = check(capsys, write(tmp_path / "a.jsonl", *SUMS), *words)
    assert code == status
    assert said in found["error"]
    assert "Traceback" not in error


def test_long_parts_and_many_rows_are_cut_short_for_people_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    rows = [{"prompt": "x" * 2000, "answer": "y"}, *({"prompt": 3, "answer": "y"} for _ in range(9))]
    file = write(tmp_path / "a.jsonl", *[{"prompt": f"p{i}", "answer": "y"} for i in range(9)], *rows)
    _, found, said = check(capsys, file, "--rows", "9:")
    assert len(found["bad_rows"]) == 9
    assert len(found["preview"][0]["parts"][0]["text"]) == 2000
    assert "characters more)" in said
    assert "... and 4 more" in said


def test_a_file_is_checked_as_tasks_would_use_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file, test = (
        write(tmp_path / "a.jsonl", *SUMS),
        write(tmp_path / "b.jsonl", SUMS[1], {"question": "9", "answer": "9"}),
    )
    spec = f"{file}?template=Level {{level}}: {{prompt}}&system=Be brief.&reward=numeric&heldout={test}"
    status, found, _ = check(capsys, spec)
    assert found["preview"][0]["parts"][0]["text"] == "system: Be brief.\nuser: Level 1: 1+1="
    assert (found["gold"]["by"], found["overlap"]["against"], found["overlap"]["prompts"]) == ("numeric", str(test), 2)
    assert found["overlap"]["hits"] == [{"row": 2, "held": "row 1", "share": 1.0}]
    assert (status, found["problems"]) == (1, ["rows that hold what is evaluated on: 1"])
    assert "names 'lvl'" in check(capsys, f"{file}?template={{lvl}}{{prompt}}")[1]["error"]
    assert "has no option 'sytem'; did you mean 'system'" in check(capsys, f"{file}?sytem=x")[1]["error"]
    pairs = write(tmp_path / "p.jsonl", {"prompt": "1", "chosen": "2", "rejected": "3"})
    assert "go around the prompts of tasks" in check(capsys, f"{pairs}?system=x")[1]["error"]
