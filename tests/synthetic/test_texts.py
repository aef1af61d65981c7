"""Texts: what gold counts in replies, those that are drawn and any others, and what it refuses."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.models.tiny import FOLDER
from guerdon.rewards.words import sentences, words
from guerdon.synthetic import requests, steps, sums
from guerdon.synthetic.facts import CAPITALS, OPPOSITES
from guerdon.synthetic.steps import Solution

CAPITAL, SUM, OPPOSITE = "What is the capital of France?", "Tell me: what is 17 plus 5?", "What is the opposite of hot?"


@pytest.mark.parametrize(
    ("prompt", "reply", "quality"),
    [
        (CAPITAL, "The capital of France is Paris. Happy to help.", 3.5),
        (CAPITAL, "The capital of France is Paris.", 2.5),
        (CAPITAL, "paris", 2.0),
        (CAPITAL, "Paris or Rome", 0.0),
        (CAPITAL, "I do not know, thanks", 1.0),
        (CAPITAL, "Paris. Paris. Paris. Paris. Paris.", 0.0),
        (CAPITAL, "No. No!", -1.0),
        (CAPITAL, "", -1.0),
        (CAPITAL, " ... ", -1.0),
        (CAPITAL, "Parisian", 0.0),
        (SUM, "17 plus 5 is 22.", 2.5),
        (SUM, "22", 2.0),
        (SUM, "220", 0.0),
        (SUM, "21 22 23", 0.0),
        (OPPOSITE, "The opposite of hot is cold. You are welcome.", 3.5),
        (OPPOSITE, "cold, or big", 0.0),
    ],
)
def test_gold_of_requests_by_hand(prompt: str, reply: str, quality: float):
    assert requests.gold(prompt, reply) == quality


@pytest.mark.parametrize(
    ("prompt", "reply", "quality"),
    [
        ("12+7=", "19", 2.0),
        ("12+7=", " 19\n", 2.0),
        ("12+7=", "29", 0.5),
        ("12+7=", "9", 0.5),
        ("12+7=", "", 0.0),
        ("12+7=", "919", 2 / 3 - 0.25),
        ("12+7=", "19" * 5, 0.2 - 2.0),
        ("12+7=", "1" * 100, -2.0),
    ],
)
def test_gold_of_sums_by_hand(prompt: str, reply: str, quality: float):
    assert sums.gold(prompt, reply) == pytest.approx(quality)


@pytest.mark.parametrize(
    ("said", "labels", "first", "ends"),
    [
        (["17+25=42", "42+8=50"], (True, True), -1, True),
        (["17+25=43", "43+8=51"], (False, False), 0, False),
        (["17+25=43", "43+8=50"], (False, False), 0, True),
        (["17+25=42", "42+8=51"], (True, False), 1, False),
        (["17+25=42"], (True,), -1, False),
        (["17+25=42", "42+8=50", "50+0=50"], (True, True, False), 2, True),
        (["25+17=42", "42+8=50"], (False, False), 0, True),
        (["well", "42+8=50"], (False, False), 0, True),
        ([], (), -1, False),
    ],
)
def test_steps_by_hand(said, labels, first: int, ends: bool):
    assert steps.gold("17+25+8=", said) == Solution(tuple(said), labels, first, ends)


@pytest.mark.parametrize("gold", [requests.gold, sums.gold, steps.gold])
def test_another_kind_of_prompt_is_refused(gold):
    with pytest.raises(ValueError, match=r"the prompt 'Who are you\?' is no.*; expected one such as"):
        gold("Who are you?", "I")


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=60))
def test_any_reply_has_a_quality_and_the_same_again(reply: str):
    assert -2.0 <= requests.gold(CAPITAL, reply) == requests.gold(CAPITAL, reply) <= 3.5
    assert -2.0 <= sums.gold("12+7=", reply) == sums.gold("12+7=", reply) <= 2.0


def test_drawn_replies_cover_what_gold_counts():
    numbers = random.Random(0)
    drawn = [(prompt, requests.draw_reply(numbers, prompt)) for prompt in map(requests.draw_prompt, [numbers] * 2000)]
    counted = [requests.count(*one) for one in drawn]
    for share, expected in (
        (sum(one.right for one in counted), 1 / 2),
        (sum(one.polite for one in counted), 1 / 2),
        (sum(one.on_topic for one in counted), 1 / 2),
        (sum(one.repeats for one in counted), 1 / 3),
    ):
        assert share / 2000 == pytest.approx(expected, abs=0.05)
    assert {requests.asked(prompt).kind for prompt, _ in drawn} == {"sum", "capital", "opposite"}


def test_the_number_of_words_depends_on_the_fillers_alone():
    numbers = random.Random(1)
    for _ in range(300):
        prompt = requests.draw_prompt(numbers)
        reply = requests.draw_reply(numbers, prompt)
        fillers = sum(filler in reply for filler in requests.FILLERS)
        assert len(words(reply)) == (14 if requests.asked(prompt).kind == "sum" else 16) + 6 * fillers


@pytest.mark.parametrize("link", [-1.0, 0.0, 1.0])
def test_length_can_go_with_quality(link: float):
    import numpy as np

    numbers = random.Random(2)
    found = []
    for _ in range(1500):
        prompt = requests.draw_prompt(numbers)
        one = requests.seen(prompt, requests.draw_reply(numbers, prompt, link))
        found.append((one.quality, one.length))
    correlation = np.corrcoef(np.array(found).T)[0, 1]
    assert abs(correlation) < 0.08 if link == 0 else correlation * link > 0.3


def test_nothing_neutral_is_counted():
    said = set(
        words(" ".join((*requests.FILLERS, *requests.NEUTRAL.values(), *requests.PLAIN, *requests.OPENINGS)).lower())
    )
    answers = {one.lower() for one in CAPITALS.values()} | {one.lower() for one in CAPITALS}
    assert not said & (requests.COURTESY | answers | OPPOSITES.keys())
    assert all(requests.COURTESY & set(words(one.lower())) for one in requests.POLITE)
    assert not (requests.COURTESY - {"welcome"}) & (OPPOSITES.keys() | answers)
    assert all(len(words(one)) == 3 for one in (*requests.POLITE, *requests.PLAIN))
    assert all(len(words(one)) == 6 and len(sentences(one)) == 1 for one in requests.FILLERS)
    assert all(len(words(one)) == count for count, one in requests.NEUTRAL.items())
    assert all(OPPOSITES[other] == one for one, other in OPPOSITES.items())
    assert len(set(CAPITALS.values())) == len(CAPITALS)


def test_sums_are_written_in_characters_that_the_tiny_policy_knows():
    from transformers import AutoTokenizer

    tokenizer, numbers = AutoTokenizer.from_pretrained(FOLDER), random.Random(3)
    texts = []
    for _ in range(100):
        prompt, chain = sums.draw_prompt(numbers), steps.draw_prompt(numbers)
        texts += [prompt + sums.draw_reply(numbers, prompt), chain, *steps.draw_solution(numbers, chain).steps]
    assert all(tokenizer.unk_token_id not in tokenizer(text)["input_ids"] for text in texts)
    assert all(tokenizer.decode(tokenizer("12+7=")["input_ids"]) == "12+7=" for _ in range(1))


def test_sums_ask_what_arithmetic_asks():
    from guerdon.tasks.base import each
    from guerdon.tasks.builtin import arithmetic

    for task in each(arithmetic().train, 50):
        assert sums.gold(task.prompt, str(task.data["answer"])) == 2.0


def test_the_wrong_step_is_where_it_is_said_and_luck_mends_the_end():
    numbers, places, lucky = random.Random(4), set(), 0
    for _ in range(500):
        prompt = steps.draw_prompt(numbers)
        found = steps.draw_solution(numbers, prompt, wrong=0.5, lucky=0.5)
        count = len(found.steps)
        expected = tuple(i < found.first_error or found.first_error < 0 for i in range(count))
        assert found.labels == expected
        assert found.ends_right or found.first_error >= 0
        places.add((count, found.first_error))
        lucky += found.ends_right and found.first_error >= 0
    assert places == {(count, place) for count in (2, 3, 4) for place in range(-1, count)}
    assert 80 < lucky < 170
    assert all(steps.draw_solution(numbers, "1+2+3=", wrong=0).labels == (True, True) for _ in range(20))
    assert all(not steps.draw_solution(numbers, "1+2+3=", wrong=1).ends_right for _ in range(20))


@pytest.mark.parametrize(
    ("settings", "said"), [({"length_link": 2}, "length_link is 2"), ({"groups": 3}, "groups is 3")]
)
def test_no_requests_out_of_range(settings, said: str):
    with pytest.raises(ValueError, match=said):
        requests.domain(**settings)
