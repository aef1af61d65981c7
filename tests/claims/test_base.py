"""The rule that makes a word of figures, on figures made by hand; records, and when they are stale."""

import pytest

from guerdon.claims import base, record, run
from guerdon.claims.base import Claim, Expect, Measured, difference, met, word
from guerdon.commands.claim import show

HIGHER = Expect("score", "new", "old")
LOWER = Expect("loss", "new", "old", "lower")


def results(new, old, metric="score"):
    arms = {"new": new, "old": old}
    return {
        arm: {i: Measured({metric: v}, {"labels": 10}) for i, v in enumerate(values)} for arm, values in arms.items()
    }


def claim(*expect, seeds=5, run=None):
    return Claim("mine", "New beats old.", ("new", "old"), run or (lambda arm, seed, quick: None), expect, seeds=seeds)


def test_the_difference_is_paired_by_seed_and_turned_towards_what_is_expected():
    found = results([2.0, 3.0, 4.0], [1.0, 2.0, 2.0])
    assert difference(found, HIGHER).mean == pytest.approx(4 / 3)
    turned = difference(results([2.0, 3.0, 4.0], [1.0, 2.0, 2.0], "loss"), LOWER)
    straight = difference(found, HIGHER)
    assert (turned.mean, turned.low, turned.high) == pytest.approx((-straight.mean, -straight.high, -straight.low))


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ([2, 2.1, 2.2, 2.1, 2], [1, 1.1, 1, 1.2, 1], "holds"),
        ([1, 1.1, 1, 1.2, 1], [2, 2.1, 2.2, 2.1, 2], "does not hold"),
        ([1, 3, 0, 2, 5], [2, 1, 3, 0, 4], "undecided"),
    ],
)
def test_words_of_one_expectation(new, old, expected):
    assert met(results(new, old), HIGHER) == expected
    assert word(results(new, old), claim(HIGHER)) == expected


def test_a_gain_that_is_smaller_than_what_was_promised_does_not_hold():
    found = results([2, 2.1, 2.2, 2.1, 2], [1, 1.1, 1, 1.2, 1])
    assert met(found, Expect("score", "new", "old", least=0.5)) == "holds"
    assert met(found, Expect("score", "new", "old", least=3.0)) == "does not hold"


def test_one_failed_expectation_fails_the_claim_unless_it_is_a_control():
    found = results([2, 2.1, 2.2, 2.1, 2], [1, 1.1, 1, 1.2, 1])
    backwards = Expect("score", "old", "new")
    assert word(found, claim(HIGHER, backwards)) == "does not hold"
    assert word(found, claim(HIGHER, Expect("score", "old", "new", control=True))) == "holds"


def test_arms_that_sampled_unlike_numbers_of_tokens_are_named():
    used = {"new": {"sampled_tokens": 1000.0}, "old": {"sampled_tokens": 1040.0}, "bound": {}, "rows": {"labels": 5.0}}
    assert base.unequal(used) == ""
    used["old"] = {"sampled_tokens": 1100.0}
    assert base.unequal(used) == "budgets differ: new sampled 1,000 tokens per seed and old 1,100"
    assert base.unequal({"rows": {"labels": 5.0}, "other": {"sampled_tokens": 0.0}}) == ""


def test_what_a_claim_prints(capsys):
    found = results([2, 2.1, 2.2, 2.1, 2], [1, 1.1, 1, 1.2, 1])
    found["new"] = {
        seed: Measured(one.figures, {"sampled_tokens": 12000, "rollouts": 7}) for seed, one in found["new"].items()
    }
    show(record.record(claim(HIGHER), found, "guerdon claim mine"))
    said = " ".join(capsys.readouterr().out.split())
    for part in (
        "used per seed sampled tokens rollouts labels",
        "new 12,000 7",
        "old 10",
        "score of new is higher",
    ):
        assert part in said
    assert "mine: holds (5 seeds)" in said


def test_too_few_seeds_say_nothing():
    assert word(results([2.0, 2.1], [1.0, 1.1]), claim(HIGHER)) == "undecided"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: claim(Expect("score", "newer", "old")), "'newer'"),
        (lambda: claim(Expect("score", "new", "old", control=True)), "expects nothing"),
        (lambda: Measured({}, {"dollars": 1}), "dollars"),
        (lambda: difference(results([1, 2], [1, 2]), Expect("los", "new", "old")), "no 'los'"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_every_arm_runs_on_every_seed_in_turn():
    seen = []

    def one(arm, seed, quick):
        seen.append((arm, seed, quick))
        return Measured({"score": float(seed)}, {})

    found = run.run_claim(claim(HIGHER, run=one), 2, quick=True)
    assert seen == [("new", 0, True), ("old", 0, True), ("new", 1, True), ("old", 1, True)]
    assert found["old"][1].figures == {"score": 1.0}
    with pytest.raises(ValueError, match="at least 2"):
        run.run_claim(claim(HIGHER, run=one), 1)


def test_a_record_can_be_read_back_and_judged_again(tmp_path, monkeypatch):
    mine = claim(HIGHER)
    monkeypatch.setattr(record, "find_claim", lambda slug: mine)
    kept = record.record(mine, results([2, 2.1, 2.2, 2.1, 2], [1, 1.1, 1, 1.2, 1]), "guerdon claim mine")
    record.write(kept, tmp_path)
    again = record.read("mine", tmp_path)
    assert (again["word"], again["stale"]) == ("holds", False)
    assert again["arms"]["new"]["budget_per_seed"] == {"labels": 10}
    assert base.word(record.results_of(again), mine) == "holds"
    monkeypatch.setattr(record, "code_of", lambda claim: "other")
    assert record.read("mine", tmp_path)["stale"]
    assert record.read("nothing", tmp_path) is None
