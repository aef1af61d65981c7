"""Overlap rewards against values worked out by hand, and against the libraries' own where nothing of ours differs."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.rewards.fault import RewardFault
from guerdon.rewards.overlap import Bleu, ChrF, Rouge, TokenF1
from tests.replies import group, scores

EVERY = (TokenF1(), Rouge(), Bleu(), ChrF())
CAT, CAT_IS = "the cat sat on the mat", "the cat is on the mat"


@pytest.mark.parametrize(
    ("reply", "reference", "value"),
    [
        ("the cat sat", "a cat sat down", 0.8),
        ("The Cat, sat!", "cat sat", 1.0),
        ("cat cat", "cat", 2 / 3),
        ("dog", "cat", 0.0),
        ("don't", "dont", 1.0),
        ("so it is #### Paris", "Paris", 1.0),
        ("<answer>Paris</answer> I think", "paris", 1.0),
        ("我喜欢猫", "我喜欢狗", 0.75),
        ("the", "a", 1.0),
        ("the", "cat", 0.0),
        ("« Été »", "été", 1.0),
    ],
)
def test_token_f1(reply, reference, value):
    assert TokenF1().likeness(reply, reference) == pytest.approx(value)


@pytest.mark.parametrize(
    ("kind", "reply", "reference", "value"),
    [
        ("rougeL", CAT, CAT_IS, 5 / 6),  # the cat . on the mat: 5 of 6 on both sides
        ("rouge1", CAT, CAT_IS, 5 / 6),
        ("rouge2", CAT, CAT_IS, 3 / 5),  # the cat, on the, the mat
        ("rougeL", "cat", CAT, 2 * 1 * (1 / 6) / (1 + 1 / 6)),
        ("rougeL", "mat the on", CAT, 2 * (2 / 3) * (2 / 6) / (2 / 3 + 2 / 6)),  # the . on
        ("rougeLsum", "the mat\nthe cat", "the cat\nthe mat", 1.0),
        ("rougeL", "кот сидит", "кот спит", 1 / 2),
        ("rougeL", "我喜欢猫", "我喜欢狗", 3 / 4),
        ("rougeL", "...", "cat", 0.0),
    ],
)
def test_rouge(kind, reply, reference, value):
    assert Rouge(kind=kind).likeness(reply, reference) == pytest.approx(value)


def test_stems_match_where_asked_for():
    assert Rouge(kind="rouge1").likeness("cats running", "cat runs") == 0.0
    assert Rouge(kind="rouge1", stem=True).likeness("cats running", "cat runs") == 1.0


def test_words_beyond_the_limit_count_but_match_nothing():
    assert Rouge(kind="rouge1", max_words=2).likeness("a b c d", "a b") == pytest.approx(2 * 0.5 * 1 / 1.5)
    assert Rouge(kind="rouge1", max_words=2).likeness("c d a b", "a b") == 0.0
    assert Rouge(max_words=4).likeness("a b c d", "a b") == Rouge().likeness("a b c d", "a b")
    assert 0 < Rouge().likeness("word " * 100_000, "a word") < 1e-4


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(["the", "cat", "Dogs", "runs,", "it's", "3.5", "\n"]), min_size=1).map(" ".join))
def test_rouge_is_rouge_score_on_english(text):
    from rouge_score.rouge_scorer import RougeScorer

    theirs = RougeScorer(["rougeL", "rouge2"], use_stemmer=True).score("The dog's cat runs 3 times.", text)
    for kind in ("rougeL", "rouge2"):
        ours = Rouge(kind=kind, stem=True).likeness(text, "The dog's cat runs 3 times.")
        assert ours == pytest.approx(theirs[kind].fmeasure)


@pytest.mark.parametrize(
    ("reply", "reference", "value"),
    [
        (CAT, CAT, 1.0),
        ("the cat ran", "the cat sat", (2 / 3 * 1 / 2 * 1 / 2) ** (1 / 3)),  # no trigram: 1/2 of one by smoothing
        ("the cat", "the cat sat on", 2.718281828 ** (1 - 4 / 2)),  # brevity; both its orders match
        ("dog", "cat", 0.0),
    ],
)
def test_bleu(reply, reference, value):
    assert Bleu().likeness(reply, reference) == pytest.approx(value)


def test_bleu_of_undivided_scripts_needs_their_tokenizer():
    assert Bleu().likeness("我喜欢猫咪", "我喜欢小猫") == 0.0
    assert Bleu(tokenize="zh").likeness("我喜欢猫咪", "我喜欢小猫") > 0.3


def test_chrf():
    recall = (3 / 4 + 2 / 3 + 1 / 2) / 3  # of 1-, 2- and 3-grams; precision is 1
    assert ChrF().likeness("cat", "cats") == pytest.approx(5 * recall / (4 + recall))
    assert ChrF().likeness("我喜欢猫", "我喜欢猫") == 1.0
    assert ChrF(word_order=2).likeness("cat", "cats") < ChrF().likeness("cat", "cats")


@pytest.mark.parametrize("reward", EVERY, ids=lambda reward: reward.name)
def test_the_nearest_of_several_references_counts(reward):
    (alone,) = scores(reward, group([CAT], answer=CAT_IS))
    (best,) = scores(reward, group([CAT], answer=["nothing alike", CAT_IS, "x"]))
    assert 0 < alone.value < 1
    assert best.value == alone.value
    assert scores(reward, group([CAT], answer=[CAT_IS, CAT]))[0].value == pytest.approx(1.0)


@pytest.mark.parametrize("reward", EVERY, ids=lambda reward: reward.name)
def test_an_empty_reply_is_no_answer(reward):
    for reply in ("", " \n", "<think>never closed", f"<think>{CAT}</think>"):
        (score,) = scores(reward, group([reply], answer=CAT))
        assert (score.value, score.verdict.status) == (0.0, "no_answer")
    assert scores(reward, group([""], answer=["", CAT]))[0].value == 1.0


@pytest.mark.parametrize("reward", EVERY, ids=lambda reward: reward.name)
def test_reasoning_is_not_compared(reward):
    first, second = scores(reward, group([f"<think>well, hm</think>\n{CAT}", CAT], answer=CAT_IS))
    assert first.value == second.value


@pytest.mark.parametrize("reward", EVERY, ids=lambda reward: reward.name)
def test_a_task_without_a_reference_is_a_fault(reward):
    with pytest.raises(RewardFault, match="no answer in the task's data"):
        scores(reward, group(["a reply"]))


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_values_are_between_nothing_and_one(reply, reference):
    for reward in EVERY:
        assert 0.0 <= reward.likeness(reply, reference) <= 1.0


def test_settings_that_do_not_exist_are_named():
    with pytest.raises(ValueError, match="no ROUGE 'rougel'; did you mean 'rougeL'"):
        Rouge(kind="rougel")
    with pytest.raises(ValueError, match="no tokenizer '13b'; did you mean '13a'"):
        Bleu(tokenize="13b")
    with pytest.raises(ValueError, match="max_words is 0"):
        Rouge(max_words=0)
    with pytest.raises(ValueError, match="word_order is -1"):
        ChrF(word_order=-1)


@pytest.mark.parametrize(("module", "make"), [("rouge_score", Rouge), ("sacrebleu", Bleu), ("sacrebleu", ChrF)])
def test_a_missing_package_is_said_before_anything_is_scored(monkeypatch, module, make):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"pip install 'guerdon\[text\]'"):
        make()
    assert TokenF1().likeness("a cat", "cat") == 1.0
