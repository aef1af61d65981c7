from __future__ import annotations

import statistics
from dataclasses import replace

import pytest
from speed.workloads import (
    PAIRS,
    ROLLOUTS,
    Rollouts,
    lengths,
    prompts,
    score,
    small,
    small_pairs,
    written_pairs,
)


@pytest.mark.parametrize("name", ROLLOUTS)
def test_a_step_has_the_same_prompts_however_often_it_is_asked_for(name: str) -> None:
    work = ROLLOUTS[name]
    assert prompts(work, 3) == prompts(work, 3)
    assert prompts(work, 3) != prompts(work, 4)
    assert len(prompts(work, 0)) == work.prompts


def test_prompts_of_characters_have_the_length_that_is_claimed() -> None:
    assert {len(text) for text in prompts(ROLLOUTS["T"], 0)} == {6}


def test_solved_sums_are_right() -> None:
    for line in prompts(ROLLOUTS["L"], 0)[0].splitlines()[:-1]:
        _, _, a, _, rest, answer = line.split()
        assert int(a) + int(rest.rstrip("?")) == int(answer)


def test_lengths_are_exact_unless_they_are_drawn() -> None:
    assert lengths(ROLLOUTS["S"], 0) == [[48] * 8] * 4


def test_drawn_lengths_stay_in_bounds_and_have_the_mean_of_a_clipped_geometric() -> None:
    work = ROLLOUTS["V"]
    drawn = [n for step in range(200) for group in lengths(work, step) for n in group]
    assert len(drawn) == 200 * 64
    assert min(drawn) == 8
    assert max(drawn) == 256
    p = 1 / work.mean_length
    # E[max(8, min(X, 256))] = 8 + sum over 8 <= k < 256 of P(X > k)
    expected = 8 + sum((1 - p) ** k for k in range(8, 256))
    assert statistics.fmean(drawn) == pytest.approx(expected, rel=0.03)
    assert lengths(work, 5) == lengths(work, 5) != lengths(work, 6)


@pytest.mark.parametrize("work", [*ROLLOUTS.values(), *(small(work) for work in ROLLOUTS.values())])
def test_what_a_peer_takes_at_once_divides_the_step(work: Rollouts) -> None:
    assert (work.prompts * work.group) % (work.peer_micro or 1) == 0
    assert work.shortest <= work.length


def test_score_is_the_share_of_digits_and_vowels() -> None:
    assert score("a1-") == pytest.approx(2 / 3)
    assert score("") == 0.0


def test_pairs_are_as_long_as_they_shall_be_and_differ_in_the_sum() -> None:
    work = replace(PAIRS["DPO"], tokens=90)

    def encode(text: str) -> list[int]:
        return [ord(c) for c in text]

    def decode(ids: object) -> str:
        return "".join(chr(i) for i in ids)  # type: ignore[attr-defined]

    pairs = written_pairs(work, 0, lambda question: f"Q: {question} A: ", encode, decode)
    assert len(pairs) == 8
    for pair in pairs:
        assert len(pair.prompt) + len(pair.chosen) + 1 == len(pair.prompt) + len(pair.rejected) + 1 == 90
        assert pair.chosen != pair.rejected
    assert pairs == written_pairs(work, 0, lambda question: f"Q: {question} A: ", encode, decode)
    assert not {pair.prompt for pair in pairs} & {
        pair.prompt for pair in written_pairs(work, 1, lambda q: f"Q: {q} A: ", encode, decode)
    }


def test_pairs_without_room_for_a_reply_are_refused() -> None:
    with pytest.raises(ValueError, match="give pairs more tokens"):
        written_pairs(replace(small_pairs(PAIRS["RM"]), tokens=6), 0, str, lambda t: [1] * len(t), str)
