"""RewardBench, RewardBench 2 and RM-Bench: worked numbers, and rows of the layouts that the public files have."""

import json
import math
import random

import pytest

from guerdon.evaluation.reward_models import rewardbench, rewardbench2, rm_bench
from guerdon.evaluation.reward_models.base import Candidates, Stratum, pointwise, weighted
from guerdon.tasks.files import BadRow, read_rows


def stored(tmp_path, rows, name="bench.jsonl"):
    file = tmp_path / name
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return read_rows(file)


def by_text(items):
    """A reply is its own score."""
    return [[float(reply) for reply in item.replies] for item in items]


# --- RewardBench ------------------------------------------------------------------------------------------------------


def pair(subset, chosen, rejected, number=0):
    return {"prompt": "p", "chosen": str(chosen), "rejected": str(rejected), "subset": subset, "id": number}


def test_sections_are_weighted_by_published_sizes(tmp_path):
    rows = [pair("alpacaeval-easy", 1, 0), pair("mt-bench-easy", 0, 1), pair("mt-bench-easy", 1, 0)]
    rows += [pair("math-prm", 1, 0), pair("hep-python", 0, 0)]
    found = rewardbench.evaluate(rewardbench.read(stored(tmp_path, rows), "file"), by_text)
    assert found.parts["Chat"].mean == pytest.approx((100 * 1 + 28 * 0.5) / 128)
    assert found.parts["Reasoning"].mean == pytest.approx(984 / (984 + 164))  # a tie is lost
    assert found.score == pytest.approx((found.parts["Chat"].mean + found.parts["Reasoning"].mean) / 2)
    assert "Safety" not in found.parts
    assert "donotanswer" in found.further["missing"]
    assert found.parts["subset/mt-bench-easy"].mean == 0.5
    assert (found.parts["all rows"].mean, found.parts["all rows"].n) == (0.6, 5)
    assert found.as_dict()["parts"]["subset/hep-python"]["n"] == 1


def test_prior_sets_count_half_a_section(tmp_path):
    rows = [pair(name, 1, 0) for section in rewardbench.SECTIONS.values() for name in section]
    rows += [pair("shp", 0, 1), pair("summarize", 1, 0)]
    found = rewardbench.evaluate(rewardbench.read(stored(tmp_path, rows), "file"), by_text)
    assert found.parts["Prior Sets"].mean == 0.5
    assert found.score == pytest.approx((2 * 4 + 0.5) / 9)
    assert not found.further["missing"]


def test_code_and_mathematics_are_equally_heavy():
    weights = rewardbench.SECTIONS["Reasoning"]
    assert weights["math-prm"] == sum(weight for name, weight in weights.items() if name.startswith("hep"))


def test_a_subset_that_is_not_there_is_an_error_with_its_row(tmp_path):
    rows = stored(tmp_path, [pair("math-prm", 1, 0), pair("math", 1, 0)])
    with pytest.raises(BadRow, match="row 2: the column 'subset' is 'math'; expected a subset of RewardBench"):
        rewardbench.read(rows, "file")


def test_a_reply_without_a_score_is_lost_and_counted(tmp_path):
    rows = rewardbench.read(stored(tmp_path, [pair("math-prm", "nan", 0), pair("math-prm", 1, "nan")]), "file")
    found = rewardbench.evaluate(rows, by_text)
    assert (found.score, found.unscored) == (0, 2)


def test_the_weighted_interval_is_wilsons_for_equal_rates_and_covers():
    one = weighted([Stratum(1, 50, 100), Stratum(3, 150, 300)])
    assert (one.low, one.high, one.n) == (pytest.approx(0.4513, abs=1e-3), pytest.approx(0.5487, abs=1e-3), 400)
    numbers, inside = random.Random(0), 0
    for _ in range(400):
        easy, hard = (sum(numbers.random() < p for _ in range(60)) for p in (0.9, 0.4))
        found = weighted([Stratum(2, easy, 60), Stratum(1, hard, 60)])
        inside += found.low <= (2 * 0.9 + 0.4) / 3 <= found.high
    assert inside / 400 >= 0.92


# --- RewardBench 2 ----------------------------------------------------------------------------------------------------


def test_ties_at_the_maximum_share_the_credit():
    assert rewardbench2.credit([1, 1, 0, 0]) == 0.5
    assert rewardbench2.credit([0, 0, 0, 0]) == 0.25
    assert rewardbench2.credit([0, 1, 0, 0]) == 0
    assert rewardbench2.credit([2, math.nan, 0, 0]) == 1
    assert rewardbench2.credit([math.nan, 1, 0, 0]) == 0
    assert rewardbench2.credit([math.nan] * 4) == 0


def test_ties_have_the_worked_score():
    found = rewardbench2.ties({"0": rewardbench2.stand([1, 0.8, -1], 1)}, {"0": rewardbench2.stand([2, 1.5, 0, -1], 2)})
    assert (found.ref.mean, found.tied.mean, found.clear, found.clear_in_both) == (1, 1, 1, 0)
    assert found.score == pytest.approx(0.7946295, abs=1e-7)


@pytest.mark.parametrize(
    ("gap", "spread", "margin"), [(1, 0, 1), (-1, 0, -1), (0, 0, 0), (math.nan, 1, 0), (2, 1, math.tanh(1))]
)
def test_the_margin_has_its_limits_where_all_right_replies_score_alike(gap, spread, margin):
    stands = rewardbench2.Stand(gap, 0), rewardbench2.Stand(gap, spread)
    assert rewardbench2.ties({"0": stands[0]}, {"0": stands[1]}).margin == pytest.approx(margin)


def test_a_missing_score_wins_no_tie():
    broken, sound = rewardbench2.stand([math.nan, 0], 1), rewardbench2.stand([3, 2, 0], 2)
    found = rewardbench2.ties({"0": broken}, {"0": sound})
    assert (found.ref.mean, found.clear_in_both, found.margin) == (0, 0, 0)


def four(subset, name, chosen, rejected):
    return {
        "id": name,
        "prompt": "p",
        "chosen": list(map(str, chosen)),
        "rejected": list(map(str, rejected)),
        "num_correct": len(chosen),
        "num_incorrect": len(rejected),
        "total_completions": len(chosen) + len(rejected),
        "models": [],
        "subset": subset,
    }


def test_the_benchmark_is_the_mean_of_its_subsets(tmp_path):
    rows = [four("Math", "1", [1], [0, 0, 0]), four("Math", "2", [0], [1, 0, 0]), four("Focus", "3", [1], [1, 0, 0])]
    rows += [four("Ties", "ref:7", [1], [0.8, -1]), four("Ties", "tied:7", [2, 1.5], [0, -1])]
    found = rewardbench2.evaluate(rewardbench2.read(stored(tmp_path, rows), "file"), by_text)
    assert found.parts["Math"].mean == 0.5
    assert found.parts["Focus"].mean == 0.5
    assert found.parts["Ties"] == pytest.approx(0.7946295, abs=1e-7)
    assert found.score == pytest.approx((0.5 + 0.5 + 0.7946295) / 3, abs=1e-7)
    assert found.further["missing"] == ["Factuality", "Precise IF", "Safety"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (four("Math", "1", [1, 2], [0]), "the column 'chosen' is '2 replies'; expected one right reply"),
        (four("Ties", "7", [1], [0]), "the column 'id' is '7'; expected 'ref:NUMBER' or 'tied:NUMBER'"),
        (four("Ties", "ref:7", [1, 2], [0]), "ref:7 has 2 right replies; expected one"),
        (four("Math", "1", [1], []), r"the column 'rejected' is \[\]; expected a list of at least 1 texts"),
        ({"chosen": ["1"], "rejected": ["0"], "subset": "Math", "id": "1"}, "no value under 'prompt'"),
    ],
)
def test_rows_that_are_none_of_rewardbench_2_are_named(tmp_path, row, message):
    with pytest.raises(BadRow, match=message):
        rewardbench2.read(stored(tmp_path, [row]), "file")


# --- RM-Bench ---------------------------------------------------------------------------------------------------------


def test_levels_of_the_card():
    found = rm_bench.levels((1, 2, 3), (0.5, 1.5, 2.5))
    assert {level: sum(won) / len(won) for level, won in found.items()} == {"hard": 0, "normal": 1, "easy": 1}


def styles(domain, chosen, rejected):
    return {"id": "x", "prompt": "p", "domain": domain, "chosen": list(chosen), "rejected": list(rejected)}


def test_domains_of_safety_are_one_domain(tmp_path):
    right, wrong = ("7", "8", "9"), ("1", "2", "3")
    rows = [
        styles("chat", right, wrong),
        styles("safety-refuse", right, wrong),
        styles("safety-response", wrong, right),
    ]
    found = rm_bench.evaluate(rm_bench.read(stored(tmp_path, rows), "file"), by_text)
    assert found.parts["safety"] == 0.5
    assert found.parts["chat"] == 1
    assert found.score == 0.75
    assert found.parts["safety-response/hard"].mean == 0
    assert {level: found.parts[level] for level in rm_bench.LEVELS} == dict.fromkeys(rm_bench.LEVELS, 0.75)


def test_a_score_of_style_alone_is_good_at_easy_only(tmp_path):
    rows = [styles("code", "123", "123")]
    found = rm_bench.evaluate(rm_bench.read(stored(tmp_path, rows), "file"), by_text)
    assert (found.parts["hard"], found.parts["normal"], found.parts["easy"]) == (0, 0, 1)


def test_another_number_of_styles_is_refused(tmp_path):
    with pytest.raises(BadRow, match="row 1: the column 'rejected' is '2 replies'; expected three"):
        rm_bench.read(stored(tmp_path, [styles("chat", "abc", "ab")]), "file")


# --- who scores -------------------------------------------------------------------------------------------------------


def test_a_function_of_single_replies_scores_candidates():
    items = [Candidates("a", ("x", "yy")), Candidates("b", ("zzz",))]
    seen = []

    def score(prompts, replies):
        seen.extend(zip(prompts, replies, strict=True))
        return [len(reply) for reply in replies]

    assert pointwise(score)(items) == [[1, 2], [3]]
    assert seen == [("a", "x"), ("a", "yy"), ("b", "zzz")]


@pytest.mark.parametrize("answer", [[], [[1.0]], [[1.0, 2.0, 3.0]]])
def test_a_scorer_that_breaks_its_contract_is_told_so(tmp_path, answer):
    rows = rewardbench.read(stored(tmp_path, [pair("math-prm", 1, 0)]), "file")
    with pytest.raises(ValueError, match="expected"):
        rewardbench.evaluate(rows, lambda items: answer)
