"""The partial-prompt probe: where problems are cut, what counts as the hidden end, and a model that knows them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from guerdon.chat import Chat
from guerdon.data.probe import Recall, cut, probe, reproduces, rouge_l
from guerdon.samplers.base import Sample, Sampling
from tests.test_chat import tokenizer

KNOWN = "Tom has 3 apples and buys 4 more. How many?"


class ByHeart:
    """A sampler that goes on with the text that it knows, and otherwise says nothing to the point."""

    version = 0

    def __init__(self, chat: Chat, *known: str) -> None:
        self.chat, self.known, self.asked = chat, known, []

    async def sample(self, prompt: Sequence[int], how: Sampling, seeds: Sequence[int]) -> list[Sample]:
        self.asked.append((self.chat.decode(prompt), how))
        start = self.chat.decode(prompt)
        text = next((one[len(start) :] for one in self.known if one.startswith(start)), " no idea at all")
        return [Sample([], "length", text)]

    def load(self, weights: object, version: int) -> None:
        raise AssertionError("nothing is loaded in a probe")


def test_a_problem_that_is_known_by_heart_is_told_from_one_that_is_not():
    chat = Chat(tokenizer())
    sampler = ByHeart(chat, KNOWN + " So 7.")

    async def right(i: int, text: str) -> bool:
        return "7" in text

    found = asyncio.run(probe([KNOWN, "word", "Ann has 2 pears and eats 1 now. Left?"], sampler, chat, right))
    assert [(one.share, one.n, one.exact, one.right) for one in found] == [
        (80, 2, 0.5, 0.5),
        (60, 2, 0.5, 0.5),
        (40, 2, 0.5, 0.5),
    ]
    assert all(one.rouge_l == 0.5 for one in found)
    starts = [text for text, _ in sampler.asked]
    assert starts[0] == "Tom has 3 apples and buys 4 more."
    assert all(how.temperature == 0 for _, how in sampler.asked)
    assert sampler.asked[0][1].max_tokens == len(" How many?") + 128


def test_without_a_judge_the_answer_is_unknown():
    chat = Chat(tokenizer())
    (found,) = asyncio.run(probe([KNOWN], ByHeart(chat, KNOWN), chat, shares=[50]))
    assert found == Recall(50, 1, 1.0, 1.0, None)


def test_the_begin_token_is_there_where_the_tokenizer_adds_it():
    chat = Chat(tokenizer(bos=True))
    seen: list[list[int]] = []

    class Watching(ByHeart):
        async def sample(self, prompt: Sequence[int], how: Sampling, seeds: Sequence[int]) -> list[Sample]:
            seen.append([int(i) for i in prompt])
            return await super().sample(prompt, how, seeds)

    asyncio.run(probe([KNOWN], Watching(chat), chat, shares=[50]))
    assert [ids.count(4) for ids in seen] == [1]
    assert seen[0][0] == 4


@pytest.mark.parametrize("shares", [[0], [100], [80, -1]])
def test_shares_out_of_range_are_refused(shares: list[int]):
    chat = Chat(tokenizer())
    with pytest.raises(ValueError, match="between 0 and 100"):
        asyncio.run(probe([KNOWN], ByHeart(chat), chat, shares=shares))
    with pytest.raises(ValueError, match="no problem has two words"):
        asyncio.run(probe(["one", ""], ByHeart(chat), chat))


@pytest.mark.parametrize(
    ("text", "share", "start"),
    [
        ("a b c d e f g h i j", 80, "a b c d e f g h"),
        ("a b c d e f g h i j", 40, "a b c d"),
        ("  a\nb  c", 40, "  a"),
        ("a b", 99, "a"),
        ("a b", 1, "a"),
    ],
)
def test_where_a_problem_is_cut(text: str, share: int, start: str):
    assert cut(text, share) == (start, text[len(start) :])


@given(st.lists(st.text(alphabet="ab", min_size=1), min_size=2), st.integers(1, 99))
def test_both_parts_of_a_cut_hold_a_word_and_make_the_whole(said: list[str], share: int):
    start, end = cut(" ".join(said), share)
    assert start + end == " ".join(said)
    assert start.split() + end.split() == said
    assert start.split()
    assert end.split()


@pytest.mark.parametrize(
    ("written", "end", "same"),
    [
        (" How many? Answer: 7", " How many?", True),
        ("How\nmany?Answer", "How many?", True),
        (" How many", " How many?", False),
        (" How many?", " How", True),
        (" Howmany", " How", False),
        ("", " How", False),
        (" how many?", " How many?", False),
        (" So How many?", " How many?", False),
    ],
)
def test_what_reproduces_the_hidden_end(written: str, end: str, same: bool):
    assert reproduces(written, end) is same


def test_rouge_l_by_hand():
    assert rouge_l("a b c d", "a x c") == pytest.approx(2 * 2 / 7)
    assert rouge_l("", "a") == rouge_l("b", "a") == 0.0
    assert rouge_l("A, b!", "a b") == 1.0


@given(*(st.lists(st.sampled_from("abcd"), max_size=9) for _ in range(2)))
def test_rouge_l_is_that_of_the_rouge_package(a: list[str], b: list[str]):
    theirs = RougeScorer(["rougeL"]).score(" ".join(b), " ".join(a))["rougeL"].fmeasure
    assert rouge_l(" ".join(a), " ".join(b)) == pytest.approx(theirs)
