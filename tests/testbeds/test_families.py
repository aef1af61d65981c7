"""Every family of testbeds: what it says of itself is true of it."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch

from guerdon.testbeds.bandits import SAFE_OR_RISKY, bandit, best_of, choices
from guerdon.testbeds.distance import additive, edits, hidden
from guerdon.testbeds.doubt import KNOWN, doubt, stated
from guerdon.testbeds.exact import oracle_of
from guerdon.testbeds.figures import exact
from guerdon.testbeds.lengths import lengths
from guerdon.testbeds.locks import locks, steps
from guerdon.testbeds.modes import modes
from guerdon.testbeds.reference import reference
from guerdon.testbeds.routes import routes, ways, worked_out
from guerdon.testbeds.shortcuts import first_error, shortcuts
from guerdon.testbeds.sums import checked, sums
from guerdon.testbeds.sums import truth as sum_truth
from guerdon.testbeds.trees import FOUR, strings
from guerdon.testbeds.words import words

LISTED = {
    "strings": strings(prompts=3, letters=3, length=3, ways=2, spread=1.0),
    "bandit": bandit(SAFE_OR_RISKY),
    "choices": choices(),
    "locks": locks(length=4),
    "shortcuts": shortcuts(),
    "modes": modes(),
    "doubt": doubt(),
    "lengths": lengths(),
}
SAMPLED = {"hidden": hidden()}
TAUGHT = {
    "words": words(),
    "sums": sums(working=0.5, hidden=0.2),
    "routes": routes(),
    "reference": reference(),
    "additive": additive(),
}
every = pytest.mark.parametrize(
    "testbed", [*LISTED.values(), *SAMPLED.values(), *TAUGHT.values()], ids=lambda b: b.name
)


@every
def test_tasks_differ_and_can_be_said(testbed):
    ids = [task.id for task in (*testbed.tasks, *testbed.heldout)]
    measured_twice = testbed.name == "routes"
    assert len(set(ids)) == len(ids) - (len(testbed.heldout) if measured_twice else 0)
    size = len(testbed.symbols)
    assert all(0 <= token < size for task in testbed.tasks for token in task.prompt)
    assert testbed.length >= 1


@pytest.mark.parametrize("testbed", LISTED.values(), ids=LISTED)
def test_a_listed_testbed_has_its_best_and_no_better(testbed):
    oracle = oracle_of(testbed)
    assert float(oracle.truth.max(1).values.mean()) == pytest.approx(testbed.best)
    model = testbed.policy(0)
    same = testbed.policy(0)
    assert torch.equal(model.trunk.table, same.trunk.table)
    figures = exact(oracle, model)
    assert 0 <= figures["truth"] < testbed.best
    assert all(math.isfinite(value) for value in figures.values())
    assert float(oracle.logp(model).detach().exp().sum(1).mean()) == pytest.approx(1.0)


def test_the_four_strings_have_first_letters_of_their_own():
    assert len({way[0] for way in FOUR}) == 4
    assert oracle_of(strings(winning=FOUR)).right.sum() == 4


def test_lifted_prompts_are_the_easier_the_later_they_come():
    testbed = strings(prompts=4, letters=4, length=3, ways=4, lift=2.0)
    oracle = oracle_of(testbed)
    chances = (oracle.logp(testbed.policy(0)).detach().exp() * oracle.right).sum(1).tolist()
    assert chances[0] == pytest.approx(4 / 64)
    assert chances == sorted(chances)


def test_the_best_of_several_replies_to_a_bandit():
    testbed = bandit(SAFE_OR_RISKY)
    model = testbed.policy(0)
    assert best_of(testbed, model, 1) == pytest.approx(0.5 * 0.6 + 0.5 * 0.2)
    model.set(0, "", {"S": -30.0})
    assert best_of(testbed, model, 8) == pytest.approx(1 - 0.8**8)
    model.set(0, "", {"S": 30.0})
    assert best_of(testbed, model, 8) == pytest.approx(0.6)


def test_a_share_of_the_choices_is_valued():
    testbed = choices(prompts=40, valued=0.25)
    assert Counter(task.data["value"] for task in testbed.tasks) == {0.1: 10, 0.01: 30}
    figures = exact(oracle_of(testbed), testbed.policy(0))
    assert figures["right"] == pytest.approx(1 / 8)
    assert figures["valued"] == pytest.approx(1 / 8)


def test_steps_of_a_lock_and_the_hint():
    testbed = locks(prompts=3, letters=4, length=6, hint=3, lift=0.0)
    task = testbed.tasks[1]
    code = task.data["answer"]
    assert steps(task, code) == [True] * 6
    assert steps(task, code[:3]) == [True] * 3
    model = testbed.policy(0)
    ids = torch.tensor([[*task.data["hinted"], *testbed.symbols.encode(code)]])
    logp = model(ids).logits[0, :-1].log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
    assert float(logp[:3].detach().min()) > -0.01
    assert float(logp[3:].detach().max()) < -0.01


def test_shortcuts_know_the_form_and_say_who_guessed():
    testbed = shortcuts(luck=0.6, guess=1.0)
    figures = exact(oracle_of(testbed), testbed.policy(0))
    assert figures["flawed"] == pytest.approx(0.6 * figures["guessed"])
    assert figures["truth"] == pytest.approx(figures["genuine"] + figures["flawed"])
    assert 2 < figures["length"] < 4
    task = testbed.tasks[0]
    code = task.data["answer"]
    assert (first_error(task, code), first_error(task, "?"), first_error(task, code[:1])) == (-1, 0, 1)


def test_thinkers_think_and_skipping_pays_on_easy_tasks():
    testbed = modes(prompts=2, thought=6, said=2, skip=0.0)
    model = testbed.policy(0)
    figures = exact(oracle_of(testbed), model)
    assert figures["skipped_easy"] == figures["skipped_hard"] == pytest.approx(0.5, abs=1e-3)
    assert figures["length"] == pytest.approx(4.0, abs=1e-2)
    assert figures["truth"] == pytest.approx((0.95 + 0.95 + 0.8 + 0.2) / 4, abs=1e-3)
    assert exact(oracle_of(modes()), modes().policy(0))["skipped_easy"] < 0.01


def test_edit_distances_by_hand():
    assert [edits(*pair) for pair in (("", "abc"), ("abc", "abc"), ("kitten", "sitting"), ("ab", "ba"))] == [3, 0, 3, 2]
    task = hidden().tasks[0]
    assert hidden().truth(task, task.data["answer"]) == 1.0
    assert hidden().truth(task, "") == 0.0


def test_scores_add_up_over_places():
    testbed = TAUGHT["additive"]
    task, other = testbed.tasks[0], testbed.tasks[1]
    best = task.data["answer"]
    assert testbed.truth(task, best) == pytest.approx(1.0)
    assert testbed.truth(task, best[:-1]) == testbed.truth(task, best[:-1] + "=") == 0.0
    spoiled = [testbed.truth(task, best[:at] + letter + best[at + 1 :]) for at in range(6) for letter in "ABCDEF"]
    assert max(spoiled) == pytest.approx(1.0)
    assert all(0 <= value <= 1 for value in spoiled)
    losses = [1 - testbed.truth(task, "A" + best[1:]), 1 - testbed.truth(task, best[:1] + "A" + best[2:])]
    assert 1 - testbed.truth(task, "AA" + best[2:]) == pytest.approx(sum(losses))
    assert other.data["asked"] != task.data["asked"]


def test_doubt_is_worth_what_is_known():
    testbed = doubt()
    task = testbed.tasks[1]
    assert task.data["known"] == KNOWN[1]
    right, wrong = task.data["answer"] + "4", ("A" if task.data["answer"] != "A" else "B") + "0"
    assert testbed.truth(task, right) == 0.9
    assert testbed.truth(task, wrong) == pytest.approx(0.1 / 3)
    assert testbed.truth(task, "!0") == testbed.truth(task, "4A") == 0.0
    assert stated(right, 5) == 1.0
    assert testbed.traits["brier"](task, right) == pytest.approx(0.01)
    assert testbed.traits["abstained_unanswerable"](task, "!0") is None
    assert testbed.traits["abstained_unanswerable"](testbed.tasks[5], "!0") == 1.0


def test_sums_are_checked_step_by_step():
    testbed = TAUGHT["sums"]
    task = next(task for task in testbed.tasks if task.data["level"] == 3 and not task.data["hidden"])
    first, total = task.data["running"]
    assert checked(task, f"{first},{total}") == [True, True]
    assert (
        sum_truth(task, f"{first},{total}")
        == sum_truth(task, f"{first + 1},{total}")
        == sum_truth(task, str(total))
        == 1
    )
    assert [checked(task, text)[0] for text in (f"{first + 1},{total}", str(total))] == [False, first == total]
    assert sum_truth(task, f"{first},{total + 1}") == sum_truth(task, "") == sum_truth(task, "!") == 0
    secret = next(task for task in testbed.tasks if task.data["hidden"])
    assert "_" in testbed.symbols.decode(secret.prompt)
    assert testbed.traits["abstained_hidden"](secret, "!") == 1.0
    longest = max(len(",".join(map(str, one.data["running"]))) for one in testbed.tasks)
    assert testbed.length > longest


def test_routes_are_all_the_ways_there_are():
    assert worked_out("2+3*4") == 20
    assert [worked_out(text) for text in ("", "2+", "+2", "2-3", "23", "2+34")] == [None] * 6
    assert "3*4+2" in ways("234", 14)
    assert all(worked_out(way) == 14 and sorted(way[::2]) == ["2", "3", "4"] for way in ways("234", 14))
    assert all(len(task.data["ways"]) >= 3 for task in TAUGHT["routes"].tasks)


def test_a_reference_says_the_result_in_many_words():
    testbed = TAUGHT["reference"]
    task = testbed.tasks[0]
    result, sentence = task.data["result"], task.data["reference"]
    assert testbed.truth(task, f"{result};{sentence}") == 1
    assert testbed.traits["alike"](task, f"{result};{sentence}") == 1
    other = str((int(result) + 1) % 10)
    assert testbed.truth(task, f"{other};{sentence}") == 0
    assert testbed.traits["said"](task, f"{other};{sentence}") == 1
    assert testbed.truth(task, result) == 0
    assert len(sentence) + 3 == testbed.length


@pytest.mark.slow
@pytest.mark.parametrize("testbed", TAUGHT.values(), ids=TAUGHT)
def test_a_taught_policy_is_sometimes_right(testbed):
    import asyncio

    from guerdon.testbeds.figures import sampled

    figures = asyncio.run(sampled(testbed, testbed.policy(0), 8, (8,)))
    assert 0.1 < figures["right"] < 0.7
    assert figures["pass@8"] > figures["right"]
