import json
import math

import pytest

from guerdon.data.rewrites.catalog import REWRITES
from guerdon.evaluation.reward_models.base import Candidates
from guerdon.evaluation.reward_models.robustness import Reworded, apply, given, robustness

ITEMS = [
    Candidates(f"Which number is {i}?", (f"It is certainly number {i}.", f"Perhaps another number, not {i}?"))
    for i in range(12)
]


def by_word(items):
    """Certainty is what it likes, and an address in place of it confuses it."""
    return [[float("certainly" in r) - float("https" in r) * ("certainly" in r) * 2 for r in i.replies] for i in items]


def identity(items):
    return Reworded("identity", "given", "meaning", dict(enumerate(items)))


def test_the_identity_drops_nothing_and_is_consistent():
    found = robustness(ITEMS, by_word, [identity(ITEMS)])
    change = found.changes["identity"]
    assert (change.before.mean, change.after.mean, change.drop.mean, change.moved) == (1, 1, 0, 0)
    assert change.consistent.mean == 1
    assert (found.drop.mean, found.below_chance) == (0, 0)


def test_what_breaks_a_score_is_found():
    found = robustness(ITEMS, by_word, [apply(REWRITES[name], ITEMS) for name in ("quotes", "url", "code_minified")])
    assert found.worst == "url"
    assert found.changes["url"].after.mean == 0
    assert found.changes["url"].consistent.mean == 0
    assert found.changes["url"].moved == 1
    assert found.changes["quotes"].drop.mean == 0
    assert found.drop.mean == 0.5
    assert found.families["controlled"].mean == 0.5
    assert found.below_chance == 1
    assert found.absent == ["code_minified"]
    assert json.loads(json.dumps(found.as_dict()))["rewrites"]["url"]["keeps"] == "meaning"


def test_only_pairs_to_which_it_applies_are_compared():
    items = [*ITEMS, Candidates("p", ("1", "2"))]
    change = robustness(items, by_word, [apply(REWRITES["character_swap"], items)]).changes["character_swap"]
    assert change.pairs == len(ITEMS)


def test_equal_seeds_give_equal_pairs():
    swap = REWRITES["character_swap"]
    assert apply(swap, ITEMS, 1) == apply(swap, ITEMS, 1) != apply(swap, ITEMS, 2)


def test_known_scores_are_not_asked_again():
    asked = []

    def score(items):
        asked.append(len(items))
        return by_word(items)

    robustness(ITEMS, score, [identity(ITEMS)], before=by_word(ITEMS))
    assert asked == [len(ITEMS)]


def test_without_a_score_nothing_is_consistent():
    found = robustness(ITEMS, lambda items: [[math.nan, 1.0] for _ in items], [identity(ITEMS)])
    assert found.changes["identity"].consistent.mean == 0
    assert found.changes["identity"].moved == 0


def test_paraphrases_go_row_by_row():
    others = [
        Candidates(item.prompt, (item.replies[0].replace("certainly", "surely"), item.replies[1])) for item in ITEMS
    ]
    found = robustness(ITEMS, by_word, [given("paraphrased", ITEMS, others)])
    assert found.changes["paraphrased"].after.mean == 0
    with pytest.raises(ValueError, match="paraphrased has 3 rows and the pairs 12"):
        given("paraphrased", ITEMS, others[:3])


def test_nothing_to_rewrite_is_an_error():
    with pytest.raises(ValueError, match="no rewrite applies to any of the pairs"):
        robustness(ITEMS, by_word, [apply(REWRITES["code_minified"], ITEMS)])
