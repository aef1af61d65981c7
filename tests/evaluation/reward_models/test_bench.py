import pytest

from guerdon.evaluation.reward_models import bench
from guerdon.evaluation.reward_models.raters import Rater
from guerdon.tasks.files import Numbered

PAIR = {"prompt": "p", "chosen": "a", "rejected": "b"}
ROWS = {
    "pairs": PAIR,
    "rewardbench": {**PAIR, "subset": "math-prm", "id": 3},
    "rewardbench2": {"prompt": "p", "chosen": ["a"], "rejected": ["b", "c", "d"], "subset": "Math", "id": "3"},
    "rm-bench": {"prompt": "p", "chosen": list("abc"), "rejected": list("def"), "domain": "chat", "id": "3"},
    "processbench": {"problem": "p", "steps": ["a", "b"], "label": 1, "id": "math-0", "generator": "x"},
    "prmbench": {
        "modified_question": "q",
        "modified_process": ["a", "b"],
        "error_steps": [2],
        "classification": "circular",
    },
    "steps": {"prompt": "p", "completions": ["a", "b"], "labels": [True, False]},
}


def rater(steps=None):
    return Rater("mine", lambda items: [[float(-i) for i, _ in enumerate(item.replies)] for item in items], steps)


@pytest.mark.parametrize("name", ROWS)
def test_a_benchmark_is_told_by_its_columns_and_measured(name):
    stored = [Numbered(1, ROWS[name]), Numbered(2, ROWS[name])]
    assert bench.recognise(stored, "file") == name
    rows = bench.read(name, stored, "file")
    report = bench.evaluate(name, rows, rater(lambda items: [[0.9, 0.1] for _ in items]), bench.Settings())
    assert report.rows == 2
    assert set(report.as_dict()) >= {"bench", "score", "rows", "parts", "unscored"}


def test_pairs_with_a_subset_of_their_own_and_conversations_are_pairs():
    assert bench.recognise([Numbered(1, {**PAIR, "subset": "mine"})], "file") == "pairs"
    said = [{"role": "user", "content": "p"}, {"role": "assistant", "content": "a"}]
    other = [said[0], {"role": "assistant", "content": "b"}]
    assert bench.recognise([Numbered(1, {"chosen": said, "rejected": other})], "file") == "pairs"


def test_what_is_no_benchmark_is_told_what_would_be():
    with pytest.raises(ValueError, match=r"file has the columns \['prompt', 'text'\].*rm-bench: prompt, chosen"):
        bench.recognise([Numbered(1, {"prompt": "p", "text": "t"})], "file")
    with pytest.raises(ValueError, match=r"no benchmark 'rewardbench3'.*rewardbench2"):
        bench.check_name("rewardbench3")


@pytest.mark.parametrize("name", ["processbench", "prmbench", "steps"])
def test_who_scores_whole_replies_cannot_be_asked_about_steps(name):
    rows = bench.read(name, [Numbered(1, ROWS[name])], "file")
    with pytest.raises(ValueError, match="mine scores whole replies; steps need a model"):
        bench.evaluate(name, rows, rater(), bench.Settings())


def test_only_pairs_can_be_rewritten():
    with pytest.raises(ValueError, match="the rows of rm-bench are no pairs"):
        bench.of_two("rm-bench", [])
