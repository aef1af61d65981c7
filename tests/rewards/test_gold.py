"""Gold rewards: the true quality of any reply, asked with the prompt's text, and a fault on other prompts."""

from __future__ import annotations

import pytest

from guerdon.rewards.fault import RewardFault
from guerdon.rewards.gold import GoldRequests, GoldSums
from guerdon.synthetic.kinds import requests
from tests.replies import group, scores

CAPITAL = "What is the capital of Peru?"


def test_sums_are_scored_reply_by_reply():
    found = scores(GoldSums(), group(["19", "29", ""], prompt="12+7="))
    assert [score.value for score in found] == [2.0, 0.5, 0.0]


@pytest.mark.parametrize(
    "prompt", [CAPITAL, [{"role": "system", "content": "Be brief."}, {"role": "user", "content": CAPITAL}]]
)
def test_requests_are_read_from_text_and_from_messages(prompt):
    found = scores(GoldRequests(), group(["Lima. You are welcome.", "Quito"], prompt=prompt))
    assert [score.value for score in found] == [3.0, 0.0]


def test_it_is_the_truth_of_the_rows():
    for row in requests(20, 1).train:
        found = scores(GoldRequests(), group([row["chosen"], row["rejected"]], prompt=row["prompt"]))
        assert [score.value for score in found] == [row["true_chosen"], row["true_rejected"]]


@pytest.mark.parametrize("reward", [GoldRequests(), GoldSums()])
def test_a_prompt_of_another_kind_is_a_fault_of_the_task(reward):
    with pytest.raises(RewardFault, match=f"reward '{reward.name}' on task 't': the prompt .* expected one such as"):
        scores(reward, group(["x"], prompt="Who are you?"))
