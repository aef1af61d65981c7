"""ProcessBench and PRMBench: worked numbers, and rows of the layouts that the public files have."""

import json
import math

import pytest

from guerdon.evaluation.reward_models import prmbench, processbench
from guerdon.evaluation.reward_models.steps import Counts, count, f1_of, first_wrong
from guerdon.tasks.files import BadRow, read_rows


def stored(tmp_path, rows, name="bench.jsonl"):
    file = tmp_path / name
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return read_rows(file)


def by_text(solutions):
    """A step is its own probability."""
    return [[float(step) for step in one.steps] for one in solutions]


def test_worked_numbers():
    assert f1_of(0.6, 0.9) == pytest.approx(0.72)
    assert f1_of(0, 0) == 0
    counts = Counts(tp=6, fp=2, tn=3, fn=1)
    assert counts.f1 == pytest.approx(0.8)
    assert counts.negative_f1 == pytest.approx(2 / 3)
    assert counts.score == pytest.approx(0.7333333, abs=1e-7)


def test_counts_by_hand():
    assert count([True, True, False, False, True], [True, False, True, False, True]) == Counts(2, 1, 1, 1)
    assert math.isnan(count([True], [True]).negative_f1)


def test_the_first_step_that_is_not_accepted():
    assert first_wrong([0.9, 0.4, 0.1]) == 1
    assert first_wrong([0.9, 0.6]) == -1
    assert first_wrong([0.5]) == 0  # above the threshold, not at it
    assert first_wrong([math.nan, 0.1]) == 0


# --- ProcessBench -----------------------------------------------------------------------------------------------------


def problem(name, steps, label):
    return {
        "id": name,
        "generator": "somebody",
        "problem": "p",
        "steps": list(map(str, steps)),
        "final_answer_correct": label < 0,
        "label": label,
    }


def test_f1_of_each_subset_and_their_mean(tmp_path):
    rows = [problem("gsm8k-0", (0.9, 0.1), 1), problem("gsm8k-1", (0.9, 0.9), 0), problem("gsm8k-2", (0.9, 0.9), -1)]
    rows += [problem("math-0", (0.1,), 0), problem("math-1", (0.9,), -1)]
    found = processbench.evaluate(processbench.read(stored(tmp_path, rows), "file"), by_text)
    assert found.parts["gsm8k/error"].mean == 0.5
    assert found.parts["gsm8k/correct"].mean == 1
    assert found.further["f1"] == {"gsm8k": pytest.approx(2 / 3), "math": 1}
    assert found.score == pytest.approx((2 / 3 + 1) / 2)
    assert found.further["steps"] is None


def test_the_threshold_can_be_chosen_on_a_subset(tmp_path):
    rows = [problem("gsm8k-0", (0.9, 0.7), 1), problem("gsm8k-1", (0.9, 0.8), -1)]
    rows += [problem("math-0", (0.74, 0.9), 0), problem("math-1", (0.76,), -1)]
    read = processbench.read(stored(tmp_path, rows), "file")
    assert processbench.evaluate(read, by_text).score == 0
    chosen = processbench.evaluate(read, by_text, "gsm8k")
    assert chosen.further["threshold"] == pytest.approx(0.75)
    assert chosen.score == 1
    with pytest.raises(ValueError, match=r"no subset 'aime'.*found \['gsm8k', 'math'\]"):
        processbench.evaluate(read, by_text, "aime")


def test_a_subset_with_one_kind_of_rows_has_no_f1(tmp_path):
    found = processbench.evaluate(processbench.read(stored(tmp_path, [problem("math-0", (0.9,), -1)]), "file"), by_text)
    assert math.isnan(found.score)
    assert found.parts["math/correct"].mean == 1


def test_own_rows_of_steps_are_read_and_their_steps_told_apart(tmp_path):
    rows = [
        {"prompt": "p", "completions": ["0.9", "0.2", "0.8"], "labels": [True, False, False]},
        {"prompt": "p", "completions": ["0.9"], "labels": [True]},
    ]
    found = processbench.evaluate(processbench.read_stepwise(stored(tmp_path, rows), "file"), by_text)
    assert found.score == 1
    assert found.further["steps"]["accuracy"] == 0.75
    assert found.further["steps"]["prmscore"] == pytest.approx((4 / 5 + 2 / 3) / 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": 2}, "row 1: the column 'label' is 2; expected a whole number, -1 to 1"),
        ({"label": True}, "the column 'label' is True"),
        ({"steps": "one"}, "the column 'steps' is 'one'; expected a list of at least 1 texts"),
        ({"problem": None}, "no value under 'problem'"),
    ],
)
def test_rows_that_are_none_of_processbench_are_named(tmp_path, changes, message):
    with pytest.raises(BadRow, match=message):
        processbench.read(stored(tmp_path, [{**problem("math-0", (0.9, 0.9), 1), **changes}]), "file")


# --- PRMBench ---------------------------------------------------------------------------------------------------------


def spoilt(kind, steps, wrong):
    return {
        "idx": f"{kind}_1",
        "original_question": "q",
        "modified_question": "q",
        "original_process": ["1"],
        "modified_process": list(map(str, steps)),
        "error_steps": list(wrong),
        "classification": kind,
        "reason": "",
    }


ROWS = [
    spoilt("circular", (0.9, 0.1, 0.9), [2]),
    spoilt("confidence", (0.9, 0.9, 0.9, 0.2), [2]),
    spoilt("multi_solutions", (0.9, 0.9), []),
]


def test_steps_are_pooled_over_all_kinds(tmp_path):
    found = prmbench.evaluate(prmbench.read(stored(tmp_path, ROWS), "file"), by_text)
    # circular: 2 accepted, 1 refused, all rightly; confidence: 2 tp, 1 fp, 1 fn; multi_solutions: 2 tp
    assert found.further["steps"] == {"tp": 6, "fp": 1, "tn": 1, "fn": 1}
    assert found.parts["f1"] == pytest.approx(12 / 14)
    assert found.parts["negative_f1"] == pytest.approx(0.5)
    assert found.score == pytest.approx((12 / 14 + 0.5) / 2)
    assert found.parts["simplicity"] == found.parts["kind/circular"] == 1
    assert math.isnan(found.parts["kind/multi_solutions"])
    assert found.parts["kind/multi_solutions/accuracy"] == 1
    assert found.parts["first_error"].mean == 0.5
    assert "kind/multi_solutions/first_error" not in found.parts


def test_a_redundancy_head_judges_simplicity_only(tmp_path):
    def redundant(solutions):
        assert [one.data["idx"] for one in solutions] == ["circular_1"]
        return [[0.1, 0.2, 0.15]]

    found = prmbench.evaluate(prmbench.read(stored(tmp_path, ROWS), "file"), by_text, redundant)
    assert found.further["redundancy_head"]
    assert found.parts["simplicity"] == 1
    assert found.further["steps"] == {"tp": 6, "fp": 1, "tn": 1, "fn": 1}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            spoilt("circular", (1, 1), [3]),
            r"the column 'error_steps' is \[3\]; expected a list of whole numbers, 1 to 2",
        ),
        (spoilt("circular", (1, 1), [0]), r"the column 'error_steps' is \[0\]"),
        ({**spoilt("circular", (1,), []), "classification": None}, "no value under 'classification'"),
    ],
)
def test_rows_that_are_none_of_prmbench_are_named(tmp_path, row, message):
    with pytest.raises(BadRow, match=message):
        prmbench.read(stored(tmp_path, [row]), "file")
