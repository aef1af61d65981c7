"""The instruction grader: both layouts, shares and reasons, strict and loose, and what is no verdict at all."""

import json
import random
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from guerdon.rewards.fault import RewardFault
from guerdon.rewards.verify.constraints import ConstraintError
from guerdon.rewards.verify.instructions import Instructions, check_instructions, constraints_of, variants
from guerdon.rewards.worth import Worth
from tests.replies import group, scores

TWO_WORDS = {"kind": "number_words", "num_words": 2, "relation": "exactly"}
NO_COMMA = {"kind": "punctuation:no_comma"}


def test_all_followed_is_right():
    (score,) = scores(Instructions(), group(["two words"], constraints=[TWO_WORDS, NO_COMMA]))
    assert (score.value, score.verdict.status, score.verdict.share) == (1.0, "right", 1.0)
    assert (score.verdict.reason, score.verdict.stage) == ("follows all 2", "instructions")


def test_the_share_counts_and_the_reason_names_what_is_broken():
    verdict = check_instructions([TWO_WORDS, NO_COMMA, {"kind": "title"}], "one, two, three")
    assert (verdict.status, verdict.share) == ("wrong", 0.0)
    verdict = check_instructions([TWO_WORDS, NO_COMMA, {"kind": "title"}], "one two <<three>>")
    assert (verdict.status, verdict.share) == ("wrong", 2 / 3)
    assert verdict.reason == ("follows 2 of 3; length_constraints:number_words: 3 words, expected exactly 2")


def test_partial_worth_pays_the_share():
    reward = Instructions(worth=Worth(partial=True))
    episodes = group(["two words", "two, words", "a, b, c"], constraints=[TWO_WORDS, NO_COMMA])
    assert [score.value for score in scores(reward, episodes)] == [1.0, 0.5, 0.0]


def test_a_kind_that_stands_twice_counts_twice():
    at_least = [{"kind": "number_words", "num_words": n, "relation": "at least"} for n in (20, 2)]
    verdict = check_instructions(at_least, "one two three")
    assert (verdict.status, verdict.share) == ("wrong", 0.5)


IFEVAL = {
    "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
    "kwargs": [
        {"num_words": None, "relation": None, "keywords": None},
        {"num_words": 2, "relation": "at least", "keywords": None},
    ],
}


@pytest.mark.parametrize(
    "data",
    [
        IFEVAL,
        {**IFEVAL, "kwargs": json.dumps(IFEVAL["kwargs"])},
        {**IFEVAL, "kwargs": [None, json.dumps(IFEVAL["kwargs"][1])]},
        {**IFEVAL, "constraints": None},
        {"constraints": json.dumps([NO_COMMA, {"kind": "number_words", "num_words": 2}])},
    ],
)
def test_layouts(data):
    found = scores(Instructions(), group(["two words", "one", "two, words"], **data))
    assert [(score.value, score.verdict.share) for score in found] == [(1.0, 1.0), (0.0, 0.5), (0.0, 0.5)]


def test_ifeval_kwargs_may_be_absent_where_no_kind_takes_any():
    assert constraints_of({"instruction_id_list": ["punctuation:no_comma"]}) == [{"kind": "punctuation:no_comma"}]


def test_no_constraints_is_a_verdict_that_says_nothing_about_the_reply():
    for data in ({"constraints": []}, {"instruction_id_list": [], "kwargs": []}, {"constraints": "[]"}):
        (score,) = scores(Instructions(), group(["reply"], **data))
        assert (score.value, score.verdict.status, score.verdict.reason) == (0.0, "cannot_tell", "no constraints")
        assert score.verdict.share is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"answer": "4"}, r"no constraints in the task's data, which has \['answer'\]; expected 'constraints'"),
        ({"constraints": [{"kind": "no_coma"}]}, "there is no constraint 'no_coma'; did you mean"),
        ({"constraints": [{"num_words": 3}]}, "a constraint is {'num_words': 3}"),
        ({"constraints": ["no_comma"]}, "the arguments of a constraint are 'no_comma'"),
        ({"constraints": "no commas please"}, "constraints is 'no commas please'; expected a list"),
        ({"constraints": {"kind": "no_comma"}}, "expected a list"),
        ({"instruction_id_list": ["punctuation:no_comma"], "kwargs": []}, "1 entries in instruction_id_list, but 0"),
        ({"instruction_id_list": ["length_constraints:number_words"], "kwargs": [{}]}, "missing a required argument"),
    ],
)
def test_a_constraint_written_wrongly_is_a_fault_of_the_task(data, message):
    with pytest.raises(RewardFault, match=message) as caught:
        scores(Instructions(), group(["a reply"], task_id="row 7", **data))
    assert "row 7" in str(caught.value)


def test_a_constraint_written_wrongly_is_one_even_where_the_reply_is_empty():
    with pytest.raises(ConstraintError):
        check_instructions([{"kind": "nonsense"}], "")


@pytest.mark.parametrize("reply", ["", " \n", "<think>never, closed", "<think>a</think>\n"])
def test_an_empty_reply_follows_nothing(reply):
    (score,) = scores(Instructions(), group([reply], constraints=[NO_COMMA]))
    assert (score.value, score.verdict.status) == (0.0, "no_answer")


def test_reasoning_is_not_held_to_the_instructions():
    for reply in ("<think>well, let me see</think>two words", "well, let me see\n</think>\n\ntwo words"):
        assert check_instructions([TWO_WORDS, NO_COMMA], reply).status == "right"
    assert check_instructions([NO_COMMA], "<think>fine</think>a, b").status == "wrong"


@pytest.mark.parametrize(
    ("reply", "strict", "loose"),
    [
        ("two words", "right", "right"),
        ("Sure, here it is:\ntwo words", "wrong", "right"),
        ("two words\nI hope, that helps", "wrong", "right"),
        ("Sure, here:\ntwo words\nBye, now", "wrong", "right"),
        ("two, words, here", "wrong", "wrong"),
        ("Sure, here it is:", "wrong", "wrong"),
    ],
)
def test_loose_leaves_out_first_and_last_lines(reply, strict, loose):
    assert check_instructions([TWO_WORDS, NO_COMMA], reply).status == strict
    assert check_instructions([TWO_WORDS, NO_COMMA], reply, loose=True).status == loose
    (score,) = scores(Instructions(loose=True), group([reply], constraints=[TWO_WORDS, NO_COMMA]))
    assert score.verdict.status == loose


def test_loose_leaves_out_stars_and_never_accepts_an_empty_rest():
    star_itself = {"kind": "end_checker", "end_phrase": "the *end"}
    assert check_instructions([{"kind": "existence", "keywords": ["bold text"]}], "**bold** text").status == "wrong"
    assert (
        check_instructions([{"kind": "existence", "keywords": ["bold text"]}], "**bold** text", True).status == "right"
    )
    assert check_instructions([star_itself], "the *end", loose=True).status == "right"
    assert variants("a, b") == ["a, b", "a, b"]
    assert variants("1\n*2*\n3")[:4] == ["1\n*2*\n3", "*2*\n3", "1\n*2*", "*2*"]


def test_the_language_of_a_text_is_the_same_every_time_and_leaves_random_numbers_alone():
    wanted = [{"kind": "response_language", "language": "en"}]
    random.seed(3)
    before = random.getstate()
    first = check_instructions(wanted, "hello der hund ist da le chat est ici")
    assert all(check_instructions(wanted, "hello der hund ist da le chat est ici") == first for _ in range(5))
    assert random.getstate() == before


def test_a_missing_language_detector_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "langdetect", None)
    with pytest.raises(ImportError, match=r"pip install 'guerdon\[text\]'"):
        check_instructions([{"kind": "response_language", "language": "en"}], "hello")
    assert check_instructions([{"kind": "english_lowercase"}], "hello").status == "right"


def test_languages_are_loaded_once_however_many_ask_at_once(monkeypatch):
    from langdetect import detector_factory

    monkeypatch.setattr(detector_factory, "_factory", None)
    wanted = [{"kind": "response_language", "language": "en"}]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: check_instructions(wanted, "this is written in plain english words"), range(4)))
    assert {verdict.status for verdict in found} == {"right"}
