import asyncio

import pytest

from guerdon.evaluation.intervals import wilson
from guerdon.judges.agreement import Labelled, agreement, check_judge
from guerdon.judges.function import FunctionVoice
from guerdon.judges.outcome import Failure
from guerdon.judges.usage import BudgetSpent
from guerdon.rewards.judged import JudgeCompare, JudgeRubric, JudgeScore
from tests.judges.test_base import longer, quoted

LOST, LATE = Failure("network", "down"), Failure("timeout", "late")


def test_accuracy_and_kappa_by_hand():
    found = agreement([1, 1, 0, 0], [1, 0, 0, 0])
    assert found.accuracy == wilson(3, 4)
    # By chance: 1/2 * 1/4 + 1/2 * 3/4 = 1/2, so kappa = (3/4 - 1/2) / (1 - 1/2).
    assert found.kappa.mean == pytest.approx(0.5)
    assert found.kappa.low == pytest.approx(2 * wilson(3, 4).low - 1)
    assert found.kappa.high == pytest.approx(2 * wilson(3, 4).high - 1)
    assert (found.judged, found.failed_share) == (4, 0.0)


def test_kappa_of_cohens_table():
    # 20 both yes, 5 judge yes only, 10 people yes only, 15 both no: 0.7 agree, chance 0.5 * 0.6 + 0.5 * 0.4 = 0.5.
    predicted = ["yes"] * 25 + ["no"] * 25
    labels = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    found = agreement(predicted, labels)
    assert found.accuracy.mean == pytest.approx(0.7)
    assert found.kappa.mean == pytest.approx(0.4)


def test_a_judge_that_always_says_the_same_has_no_kappa_above_chance():
    assert agreement([1] * 10, [1] * 9 + [0]).kappa.mean == pytest.approx(0.0)
    assert agreement([1] * 10, [1] * 10).kappa is None  # chance alone agrees on all


def test_failures_are_counted_apart():
    found = agreement([1, LOST, 0, LATE, LOST], [1, 1, 0, 0, 0])
    assert (found.judged, dict(found.failed), found.failed_share) == (2, {"network": 2, "timeout": 1}, 0.6)
    assert found.accuracy.mean == 1.0
    nothing = agreement([LOST, LOST], [0, 1])
    assert (nothing.accuracy, nothing.kappa, nothing.failed_share) == (None, None, 1.0)
    assert "nothing was judged" in str(nothing)


def test_lengths_must_fit():
    with pytest.raises(ValueError, match="1 predictions for 2 labels"):
        agreement([1], [1, 0])
    with pytest.raises(ValueError, match="at least one"):
        agreement([], [])


def test_grades_against_labels():
    def judge(prompt):
        reply = quoted(prompt, "REPLY")
        return None if reply == "silent" else f"GRADE: {9 if reply in ('good', 'bluff') else 2}"

    reward = JudgeScore(FunctionVoice(judge, repairs=0))
    rows = [Labelled("q", [reply], reply == "good") for reply in ("good", "bad", "bluff", "bad", "silent")]
    found = asyncio.run(check_judge(reward, rows))
    assert found.accuracy.mean == pytest.approx(3 / 4)
    assert dict(found.failed) == {"empty": 1}
    assert found.consistent is None


def test_rubrics_take_their_criteria_from_the_rows():
    reward = JudgeRubric(FunctionVoice(lambda prompt: f"1: {'yes' if 'short' in prompt else 'no'}"))
    rows = [Labelled("q", ["a"], True, {"rubric": ["short"]}), Labelled("q", ["a"], False, {"rubric": ["long"]})]
    assert asyncio.run(check_judge(reward, rows)).accuracy.mean == 1.0


def test_comparisons_predict_the_best_and_say_how_often_order_decided():
    reward = JudgeCompare(FunctionVoice(longer))
    rows = [
        Labelled("q", ["long one", "short"], 0),
        Labelled("q", ["a", "bb", "ccc"], 2),
        Labelled("q", ["aa", "bb"], 1),  # a tie is no agreement
    ]
    found = asyncio.run(check_judge(reward, rows))
    assert found.accuracy.mean == pytest.approx(2 / 3)
    assert found.consistent == 1.0
    first = JudgeCompare(FunctionVoice(lambda prompt: "CHOICE: A"))
    assert asyncio.run(check_judge(first, rows)).consistent == 0.0
    assert "same in both orders        0.0%" in str(asyncio.run(check_judge(first, rows)))


def test_a_budget_that_ends_leaves_the_rest_unjudged():
    asked = []

    async def judge(prompt):
        asked.append(prompt)
        if len(asked) > 2:
            raise BudgetSpent("no more")
        return "GRADE: 9"

    rows = [Labelled("q", [f"r{i}"], True) for i in range(5)]
    found = asyncio.run(check_judge(JudgeScore(FunctionVoice(judge)), rows))
    assert (found.judged, dict(found.failed)) == (2, {"budget": 3})
