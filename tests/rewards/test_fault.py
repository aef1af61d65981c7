"""A fault says what was found and what was expected, and names reward and task once."""

from __future__ import annotations

import asyncio
import pickle

from guerdon.rewards.fault import RewardFault
from guerdon.rewards.scoring import score_group
from guerdon.rewards.user import wrap_reward
from guerdon.types import Episode, Span, Task


def crash(completion: str) -> float:
    raise KeyError("gold")


def test_a_fault_of_a_group_names_reward_and_task_once():
    group = [Episode(Task("sums/1", "1+1="), [Span([1], [0.0], message={"role": "assistant", "content": "2"})])]
    (fault,) = asyncio.run(score_group(group, [wrap_reward(crash)], None))  # type: ignore[arg-type]
    told = str(fault)
    assert told.startswith("task sums/1: reward 'crash': it raised KeyError: 'gold' (test_fault.py, line 15)")
    assert told.count("sums/1") == told.count("'crash'") == 1
    assert group[0].scores["crash"].verdict.reason == fault.what


def test_a_fault_survives_pickling():
    fault = RewardFault("r", "t", "nothing", "a number")
    again = pickle.loads(pickle.dumps(fault))
    assert (str(again), again.what) == (str(fault), "nothing; expected a number")
