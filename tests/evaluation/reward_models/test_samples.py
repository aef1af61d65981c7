import json

import pytest

from guerdon.evaluation.reward_models import samples
from guerdon.tasks.files import BadRow, read_rows


def read(tmp_path, rows, gold=None):
    file = tmp_path / "samples.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return samples.read(read_rows(file), "samples.jsonl", gold)


def by_text(items):
    return [[float(reply) for reply in item.replies] for item in items]


def test_samples_of_one_prompt_belong_together(tmp_path):
    rows = [{"prompt": p, "completion": c, "gold": g} for p, c, g in (("a", "1", 0), ("b", "5", 1), ("a", "2", 1))]
    found = read(tmp_path, rows, "gold")
    assert [(one.item.prompt, one.item.replies, one.gold) for one in found] == [
        ("a", ("1", "2"), (0, 1)),
        ("b", ("5",), (1,)),
    ]


def test_best_of_n_with_gold_from_a_column_or_from_somebody(tmp_path):
    rows = [{"prompt": p, "completions": ["3", "1", "2"], "gold": [0, 5, 4]} for p in "ab"]
    found = samples.evaluate(read(tmp_path, rows, "gold"), by_text)
    assert found.score == 0  # the best of three by proxy is the worst
    assert found.parts["gold at n = 1"].mean == 3
    assert found.further["peak"]["n"] == 1
    assert [one["n"] for one in found.further["points"]] == [1, 2, 3]
    asked = samples.evaluate(read(tmp_path, rows), by_text, by_text)
    assert asked.score == 3
    assert asked.further["loss"]["mean"] == 0


def test_samples_without_a_score_are_left_out(tmp_path):
    rows = [{"prompt": "a", "completions": ["nan", "1"]}, {"prompt": "b", "completions": ["nan", "nan"]}]
    found = samples.evaluate(read(tmp_path, rows), by_text, by_text)
    assert (found.unscored, found.further["prompts"]) == (3, 1)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"prompt": "a", "completion": "1"}, "row 1: the column 'gold' is None; expected a finite number"),
        (
            {"prompt": "a", "completions": ["1", "2"], "gold": [1]},
            r"the column 'gold' is \[1\]; expected 2 finite numbers",
        ),
        ({"prompt": "a", "completion": "1", "gold": True}, "the column 'gold' is True"),
        ({"completion": "1", "gold": 1}, "no value under 'prompt'"),
    ],
)
def test_rows_that_are_no_samples_are_named(tmp_path, row, message):
    with pytest.raises(BadRow, match=message):
        read(tmp_path, [row], "gold")


def test_gold_has_to_come_from_somewhere(tmp_path):
    with pytest.raises(ValueError, match="the samples have no gold"):
        samples.evaluate(read(tmp_path, [{"prompt": "a", "completion": "1"}]), by_text)
