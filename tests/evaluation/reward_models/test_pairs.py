import json
import math
import random

import pytest

from guerdon.evaluation.reward_models import agreement, pairs
from guerdon.tasks.files import BadRow, read_rows


def read(tmp_path, rows, **options):
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return pairs.read(read_rows(file), str(file), **options)


def made(n, seed=0):
    """Pairs whose replies are their own score."""
    numbers = random.Random(seed)
    return [
        {
            "prompt": f"p{i}",
            "chosen": f"{numbers.random():.6f}",
            "rejected": f"{numbers.random() - 0.2:.6f}",
            "group": i % 2,
        }
        for i in range(n)
    ]


def by_text(items):
    return [[float(reply) for reply in item.replies] for item in items]


def by_length(items):
    return [[float(len(reply)) for reply in item.replies] for item in items]


def test_accuracy_by_the_values_of_a_column(tmp_path):
    rows = [
        {"prompt": "p", "chosen": str(c), "rejected": str(r), "who": w}
        for c, r, w in ((2, 1, "ann"), (1, 2, "ann"), (3, 0, "bob"), (3, 3.0, "bob"))
    ]
    found = pairs.evaluate(read(tmp_path, rows), by_text, by=["who"])
    assert found.score == 0.5
    assert found.parts["who=ann"].mean == 0.5
    assert found.parts["who=bob"].mean == 0.5  # a tie is lost
    assert found.parts["who=bob"].n == 2
    assert found.further["ties"] == 1
    assert found.further["margin"]["mean"]["mean"] == pytest.approx((1 - 1 + 3 + 0) / 4)


def test_a_column_that_is_not_there_or_tells_rows_apart_is_refused(tmp_path):
    rows = read(tmp_path, made(150))
    with pytest.raises(ValueError, match=r"no column 'grup'.*group"):
        pairs.evaluate(rows, by_text, by=["grup"])
    many = read(tmp_path, [{**row, "id": i} for i, row in enumerate(made(150))])
    with pytest.raises(ValueError, match="'id' has 150 values; expected at most 100"):
        pairs.evaluate(many, by_text, by=["id"])


def test_a_score_of_length_goes_with_length(tmp_path):
    rows = [{"prompt": f"p{i}", "chosen": "x" * (i % 7 + 1), "rejected": "x" * (i % 5 + 2)} for i in range(40)]
    rows = [row for row in rows if row["chosen"] != row["rejected"]]
    found = pairs.evaluate(read(tmp_path, rows), by_length).further["length"]
    assert set(found) == {"characters"}
    assert found["characters"]["within_pairs"]["spearman"]["mean"] == pytest.approx(1)
    assert found["characters"]["longer_preferred"]["mean"] == 1
    assert found["characters"]["accuracy_where_chosen_is"]["longer"]["mean"] == 1
    assert found["characters"]["accuracy_where_chosen_is"]["shorter"]["mean"] == 0


def test_tokens_are_counted_where_there_is_a_model(tmp_path):
    found = pairs.evaluate(read(tmp_path, made(8)), by_text, tokens=lambda item: [1, 2]).further["length"]
    assert found["tokens"]["chosen_mean"] == 1
    assert found["tokens"]["accuracy_where_chosen_is"]["shorter"]["n"] == 8


def test_log_loss_is_that_of_bradley_terry(tmp_path):
    rows = [{"prompt": "p", "chosen": "2", "rejected": "1"}]
    assert pairs.evaluate(read(tmp_path, rows), by_text).further["log_loss"] == pytest.approx(0.3132617, abs=1e-7)


def test_pairs_without_a_score_are_lost_and_left_out_of_the_rest(tmp_path):
    rows = [{"prompt": "p", "chosen": "nan", "rejected": "1"}, {"prompt": "q", "chosen": "2", "rejected": "1"}]
    found = pairs.evaluate(read(tmp_path, rows), by_text)
    assert (found.score, found.unscored) == (0.5, 1)
    assert found.further["margin"]["mean"]["mean"] == 1
    assert pairs.evaluate(read(tmp_path, rows[:1]), by_text).further == {}


def test_a_bad_row_is_named_or_skipped(tmp_path):
    rows = [*made(2), {"prompt": "p", "chosen": "a", "rejected": "a"}]
    with pytest.raises(BadRow, match=r"pairs.jsonl, row 3: chosen and rejected are the same"):
        read(tmp_path, rows)
    with pytest.warns(UserWarning, match="1 of 3 rows"):
        assert len(read(tmp_path, rows, on_bad_rows="skip")) == 2


def test_the_report_can_be_written_as_json(tmp_path):
    told = json.loads(json.dumps(pairs.evaluate(read(tmp_path, made(30)), by_text, by=["group"]).as_dict()))
    assert told["bench"] == "pairs"
    assert [one["bins"] for one in told["calibration"]] == [10, 15]
    assert told["parts"]["group=0"]["n"] == 15


# --- several models ---------------------------------------------------------------------------------------------------


def test_choices_are_named():
    assert agreement.choices([(1, 0), (0, 1), (1, 1), (math.nan, 0)]) == ["chosen", "rejected", "tie", "none"]


def test_models_that_err_alike_and_models_that_err_apart():
    one = ["chosen"] * 6 + ["rejected"] * 2 + ["none"]
    other = ["chosen"] * 6 + ["rejected"] * 2 + ["chosen"]
    apart = ["rejected"] * 2 + ["chosen"] * 7
    same, different, _ = agreement.between({"one": one, "other": other, "apart": apart})
    assert (same["models"], same["pairs"]) == (["one", "other"], 8)
    assert same["kappa"]["mean"] == 1
    assert different["share"]["mean"] == 0.5
    # both choose 'chosen' in 3/4: 10/16 + ... would agree by chance in 5/8
    assert different["kappa"]["mean"] == pytest.approx((0.5 - 0.625) / (1 - 0.625))


def test_independent_errors_have_a_kappa_of_about_nought():
    numbers = random.Random(0)
    first, second = (["chosen" if numbers.random() < 0.8 else "rejected" for _ in range(4000)] for _ in range(2))
    (found,) = agreement.between({"a": first, "b": second})
    assert abs(found["kappa"]["mean"]) < 0.05
    assert found["share"]["mean"] == pytest.approx(0.68, abs=0.03)


def test_two_models_that_never_vary_have_no_kappa():
    (found,) = agreement.between({"a": ["chosen"] * 3, "b": ["chosen"] * 3})
    assert found["kappa"] is None
