import json

import pyarrow as pa
import pyarrow.parquet
import pytest

from guerdon.rewards.fault import RewardFault
from guerdon.tasks.base import each
from guerdon.tasks.files import BadRow, read_rows, split_hub_name
from guerdon.tasks.rows import file_tasks, hub_tasks
from tests.replies import episode, scores

ROWS = [{"question": f"{i}+1?", "answer": str(i + 1), "level": i % 3} for i in range(40)]


def write(path, rows):
    if path.suffix == ".parquet":
        pa.parquet.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    elif path.suffix == ".csv":
        lines = [",".join(map(str, row.values())) for row in [dict(zip(rows[0], rows[0], strict=True)), *rows]]
        path.write_text("\n".join(lines))
    else:
        path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return str(path)


@pytest.mark.parametrize("kind", ["jsonl", "json", "csv", "parquet"])
def test_every_kind_of_file_gives_the_same_tasks(tmp_path, kind):
    tasks = file_tasks(write(tmp_path / f"sums.{kind}", ROWS))
    every = [*each(tasks.train), *each(tasks.heldout)]
    assert len(every) == 40
    assert len({task.id for task in every}) == 40
    third = next(task for task in every if task.prompt == "2+1?")
    assert third.data["answer"] == "3"
    assert third.data["level"] in (2, "2")
    assert third.id == "sums/3"
    assert 1 <= tasks.heldout.size < 12
    assert tasks.reward.name == "numeric"
    assert scores(tasks.reward, [episode(third, "it is 3")])[0].value == 1.0


def test_rows_of_jsonl_end_at_newlines_only(tmp_path):
    file = tmp_path / "odd.jsonl"
    odd = "a\u2028b\u0085c\u000bd 😀"
    rows = [{"prompt": odd, "answer": "1"}, {"prompt": "x", "answer": "2"}]
    file.write_bytes("\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode() + b"\r\n\n")
    assert [one.row["prompt"] for one in read_rows(file)] == [odd, "x"]


def test_a_byte_order_mark_is_no_part_of_the_data(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'\xef\xbb\xbf{"prompt": "x"}')
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfprompt,answer\nx,1\n")
    assert read_rows(tmp_path / "a.jsonl")[0].row == {"prompt": "x"}
    assert read_rows(tmp_path / "a.csv")[0].row == {"prompt": "x", "answer": "1"}


def test_csv_cells_may_hold_newlines_and_commas(tmp_path):
    (tmp_path / "a.csv").write_text('prompt,answer\n"one,\ntwo",1\nthree,2\n')
    assert [one.row["prompt"] for one in read_rows(tmp_path / "a.csv")] == ["one,\ntwo", "three"]


BAD = [
    ('{"prompt": "x", "answer": ', "malformed JSON"),
    ('["x"]', "a JSON list; expected an object"),
    ('{"answer": "1"}', "no value under 'prompt'"),
    ('{"prompt": null, "answer": "1"}', "no value under 'prompt'"),
    ('{"prompt": "  ", "answer": "1"}', "'prompt' is a str; expected text"),
    ('{"prompt": 3, "answer": "1"}', "'prompt' is a int"),
    ('{"prompt": "x"}', "no value under 'answer'"),
    ('{"prompt": "\\ud800", "answer": "1"}', "half a surrogate pair"),
    (
        '{"prompt": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}], "answer": "1"}',
        "ends with",
    ),
    ('{"prompt": [{"role": "human", "content": "x"}], "answer": "1"}', r"prompt\[0\] has the role 'human'"),
    ('{"prompt": [{"role": "user"}], "answer": "1"}', r"prompt\[0\] has the content None"),
    ('{"prompt": [], "answer": "1"}', "'prompt' is empty"),
]


@pytest.mark.parametrize(("line", "message"), BAD)
def test_a_bad_row_is_an_error_that_names_it(tmp_path, line, message):
    file = tmp_path / "rows.jsonl"
    file.write_text('{"prompt": "a", "answer": "1"}\n{"prompt": "b", "answer": "1"}\n' + line + "\n")
    with pytest.raises(BadRow, match=f"rows.jsonl, row 3: .*{message}"):
        file_tasks(str(file))


def test_bad_rows_may_be_skipped_and_are_counted(tmp_path):
    file = tmp_path / "rows.jsonl"
    good = [json.dumps({"prompt": f"p{i}", "answer": "1"}) for i in range(20)]
    file.write_text("\n".join([*good[:10], *(line for line, _ in BAD), *good[10:]]))
    with pytest.warns(UserWarning, match=r"12 of 32 rows .* skipped, the first because of: .*row 11: malformed"):
        tasks = file_tasks(str(file), on_bad_rows="skip")
    assert tasks.train.size + tasks.heldout.size == 20
    assert "12 of 32 rows" in tasks.describe


def test_a_bad_first_row_does_not_hide_the_columns(tmp_path):
    rows = [{"text": "no prompt here"}, *({"prompt": f"p{i}", "answer": "1"} for i in range(9))]
    path = write(tmp_path / "a.jsonl", rows)
    with pytest.raises(BadRow, match="row 1: no value under 'prompt'"):
        file_tasks(path)
    with pytest.warns(UserWarning, match="1 of 10 rows"):
        assert file_tasks(path, on_bad_rows="skip").train.task(0).data["answer"] == "1"


def test_ragged_csv_rows_are_bad(tmp_path):
    (tmp_path / "a.csv").write_text("prompt,answer\nx,1\ny\n")
    with pytest.raises(BadRow, match=r"row 2: fewer cells than the first line has; expected 2 cells"):
        file_tasks(str(tmp_path / "a.csv"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.jsonl", None, "does not exist"),
        ("empty.jsonl", b"", "holds no rows"),
        ("blank.jsonl", b"\n \n", "holds no rows"),
        ("head.csv", b"prompt,answer\n", "holds no rows"),
        ("rows.txt", b"x", r"extension '.txt'; expected one of .jsonl, .json, .csv, .parquet"),
        ("object.json", b'{"prompt": "x"}', "a JSON dict; expected a list"),
        ("lines.json", b'{"prompt": "x"}\n{"prompt": "y"}', "name it .jsonl"),
        ("broken.parquet", b"PAR1 no", "no readable Parquet file"),
        ("other.jsonl", b'{"text": "x"}', r"no prompt column: found \['text'\], looked for prompt, question"),
        ("one.jsonl", b'{"prompt": "x"}', "one different prompt only"),
        ("bytes.jsonl", b'{"prompt": "\xff"}', "not UTF-8"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        file_tasks(str(tmp_path / name))


def test_columns_are_found_in_order_or_named(tmp_path):
    rows = [{"input": f"i{i}", "problem": f"p{i}", "label": "l", "solution": "s"} for i in range(9)]
    path = write(tmp_path / "a.jsonl", rows)
    task = file_tasks(path).train.task(0)
    assert task.prompt.startswith("p")
    assert task.data["answer"] == task.data["solution"] == "s"
    task = file_tasks(path, prompt="input", answer="label").train.task(0)
    assert task.prompt.startswith("i")
    assert task.data["answer"] == "l"
    with pytest.raises(ValueError, match="no column 'lable'; did you mean 'label'"):
        file_tasks(path, answer="lable")


def test_rows_of_verl_are_tasks_with_their_ground_truth(tmp_path):
    rows = [
        {
            "data_source": "openai/gsm8k",
            "prompt": [{"role": "user", "content": f"{i}+1?"}],
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": str(i + 1)},
            "extra_info": {"index": i, "split": "train"},
        }
        for i in range(12)
    ]
    for kind in ("parquet", "jsonl"):
        tasks = file_tasks(write(tmp_path / f"a.{kind}", rows))
        task = tasks.train.task(0)
        i = task.data["extra_info"]["index"]
        assert task.prompt == [{"role": "user", "content": f"{i}+1?"}]
        assert task.data["answer"] == task.data["reward_model"]["ground_truth"] == str(i + 1)
        assert (task.data["data_source"], tasks.reward.name) == ("openai/gsm8k", "numeric")
        named = file_tasks(str(tmp_path / f"a.{kind}"), answer="extra_info.index")
        assert named.train.task(0).data["answer"] == i


def test_a_part_of_the_rows_is_taken_by_their_place(tmp_path):
    path = write(tmp_path / "a.jsonl", ROWS)
    last = file_tasks(path, rows="-10:")
    assert {task.id for task in (*each(last.train), *each(last.heldout))} == {f"a/{i}" for i in range(31, 41)}
    with pytest.raises(ValueError, match="expected first:last"):
        file_tasks(path, rows="10")


def test_equal_prompts_stay_on_one_side(tmp_path):
    path = write(tmp_path / "a.jsonl", [{"prompt": f"p{i % 15}", "answer": i} for i in range(60)])
    tasks = file_tasks(path)
    assert not {task.prompt for task in each(tasks.train)} & {task.prompt for task in each(tasks.heldout)}


@pytest.mark.parametrize("n", [2, 3, 5])
def test_at_least_one_row_is_held_out_and_one_trained_on(tmp_path, n):
    tasks = file_tasks(write(tmp_path / "a.jsonl", [{"prompt": f"p{i}", "answer": i} for i in range(n)]))
    assert tasks.heldout.size >= 1
    assert tasks.train.size >= 1
    assert tasks.train.size + tasks.heldout.size == n


def test_a_heldout_file_of_its_own_is_never_trained_on(tmp_path):
    train = write(tmp_path / "train.jsonl", ROWS)
    test = write(tmp_path / "test.jsonl", ROWS[5:8])
    tasks = file_tasks(train, heldout=test)
    assert [task.id for task in each(tasks.heldout)] == ["train/heldout/1", "train/heldout/2", "train/heldout/3"]
    assert tasks.train.size == 37
    assert "3 training rows left out" in tasks.describe
    with pytest.raises(ValueError, match="every training prompt is held out"):
        file_tasks(train, heldout=train)


def test_worked_solutions_are_scored_by_their_last_number_and_kept_whole(tmp_path):
    rows = [{"question": f"q{i}", "answer": f"so {i} + 1\n#### {i + 1}"} for i in range(12)]
    tasks = file_tasks(write(tmp_path / "gsm.jsonl", rows))
    task = tasks.train.task(0)
    assert task.data["answer"].startswith("so")
    number = task.data["answer"].rsplit(" ", 1)[1]
    assert scores(tasks.reward, [episode(task, f"I get {number}.")])[0].verdict.status == "right"


def test_text_answers_are_matched_exactly_and_none_at_all_is_a_fault(tmp_path):
    texts = file_tasks(write(tmp_path / "a.jsonl", [{"prompt": f"p{i}", "answer": "yes"} for i in range(9)]))
    assert texts.reward.name == "exact"
    bare = file_tasks(write(tmp_path / "b.jsonl", [{"prompt": f"p{i}"} for i in range(9)]))
    with pytest.raises(RewardFault, match="no answer in the task's data"):
        scores(bare.reward, [episode(bare.train.task(0), "yes")])


def test_messages_from_parquet_lose_the_keys_that_are_not_theirs(tmp_path):
    messages = [
        [{"role": "system", "content": "s"}, {"role": "user", "content": f"{i}", "name": "n"}] for i in range(9)
    ]
    tasks = file_tasks(write(tmp_path / "a.parquet", [{"messages": m, "answer": "1"} for m in messages]))
    assert tasks.train.task(0).prompt[0] == {"role": "system", "content": "s"}
    assert tasks.train.task(0).prompt[1]["name"] == "n"


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("openai/gsm8k", ("openai/gsm8k", None, None)),
        ("openai/gsm8k:main", ("openai/gsm8k", "main", None)),
        ("openai/gsm8k:main:test", ("openai/gsm8k", "main", "test")),
        ("imdb:test", ("imdb", None, "test")),
        ("imdb::test", ("imdb", None, "test")),
        ("imdb:train[:100]", ("imdb", None, "train[:100]")),
        ("imdb:plain:train[10:20]", ("imdb", "plain", "train[10:20]")),
    ],
)
def test_names_of_hub_data_sets(name, parts):
    assert split_hub_name(name) == parts


def test_too_many_parts_are_refused():
    with pytest.raises(ValueError, match="expected name"):
        split_hub_name("a:b:c:d")


@pytest.mark.slow
def test_saved_and_loadable_folders(tmp_path):
    from datasets import Dataset, DatasetDict

    Dataset.from_list(ROWS).save_to_disk(tmp_path / "one")
    DatasetDict({"train": Dataset.from_list(ROWS), "test": Dataset.from_list(ROWS[:4])}).save_to_disk(tmp_path / "two")
    assert hub_tasks(str(tmp_path / "one")).train.size >= 28
    two = hub_tasks(str(tmp_path / "two"), heldout="test")
    assert (two.train.size, two.heldout.size) == (36, 4)
    with pytest.raises(ValueError, match=r"no split 'dev'; it has \['test', 'train'\]"):
        hub_tasks(str(tmp_path / "two"), heldout="dev")
    (tmp_path / "three").mkdir()
    write(tmp_path / "three" / "train.jsonl", ROWS)
    assert hub_tasks(f"{tmp_path / 'three'}:train[:20]").train.size <= 19
