from __future__ import annotations

import os
import sys

import pytest
from speed.load import Load, wait_until_quiet
from speed.race import Ended, Entry, race

CONTESTANT = """
import json, sys
for number, line in enumerate(sys.stdin):
    if number == {last}:
        sys.exit(3)
    print("a library says something")
    print(json.dumps({{"step": {factor} * number, "peak_mb": 1.0, "threads": 1}}), flush=True)
"""


def entry(factor: int, last: int = 99) -> Entry:
    return Entry([sys.executable, "-c", CONTESTANT.format(factor=factor, last=last)], os.environ)


def test_every_contestant_takes_every_turn_and_the_first_are_not_counted() -> None:
    rows = race({"a": entry(1), "b": entry(10)}, rounds=2, warmup=1)
    assert {name: [row["step"] for row in found] for name, found in rows.items()} == {"a": [1, 2], "b": [10, 20]}


def test_one_that_ends_early_is_named_with_its_status() -> None:
    with pytest.raises(Ended, match="b ended early, with status 3"):
        race({"a": entry(1), "b": entry(1, last=1)}, rounds=2, warmup=0)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the load is read from /proc")
def test_load_of_others_is_a_share_and_ones_own_work_is_none_of_it() -> None:
    load = Load([os.getpid()])
    sum(i * i for i in range(10**6))
    others = load.others()
    assert others is not None
    assert 0.0 <= others <= 1.0


def test_patience_without_time_waits_for_nothing() -> None:
    assert wait_until_quiet(0.0, patience=0.0) < 1.0
