"""Stored, replayed and mixed experience: everything once where it should be, and exactly continued."""

import asyncio

import numpy as np
import pytest

from guerdon.replay import Mixture, Replay, Saved
from guerdon.sources import Dataset
from guerdon.store import write_episodes
from guerdon.types import Episode, Score, Span, Task


def group(name: str) -> list[Episode]:
    spans = [Span(np.array([1, 2])), Span(np.array([3]), np.array([-0.5]), parent=0, version=4)]
    return [Episode(Task(name, "p"), spans, {"r": Score(1.0)})]


def names(experience) -> list[str]:
    return [one[0].task.id for one in experience.groups]


def take(source, times: int) -> list[list[str]]:
    async def go():
        async with source:
            return [names(await source.take(0)) for _ in range(times)]

    return asyncio.run(go())


def test_saved_episodes_come_back_step_by_step_with_their_log_probabilities(tmp_path):
    for step, name in enumerate("ab", start=1):
        write_episodes(tmp_path / "episodes" / f"step-{step:06d}.parquet", step, [group(name), group(name + "2")])
    (tmp_path / "episodes" / "heldout-000000.parquet").write_bytes(b"not for training")
    source = Saved(tmp_path)
    assert take(source, 3) == [["a", "a2"], ["b", "b2"], ["a", "a2"]]
    first = asyncio.run(Saved(tmp_path).take(0)).groups[0][0]
    assert first.spans[1].logprobs.tolist() == [-0.5]
    assert first.spans[1].version == -1
    with pytest.raises(FileNotFoundError, match="holds no step"):
        Saved(tmp_path / "elsewhere")


def test_replay_adds_old_groups_and_never_those_of_the_same_batch():
    source = Replay(Dataset([group(str(i)) for i in range(6)], batch=2), capacity=3, old=2)
    taken = take(source, 4)
    assert [len(names) for names in taken] == [2, 4, 4, 4]
    seen: list[str] = []
    for batch in taken:
        assert set(batch[2:]) <= set(seen[-3:])
        seen += batch[:2]


def test_replay_continues_exactly():
    def build():
        return Replay(Dataset([group(str(i)) for i in range(6)], batch=2), capacity=4, old=1)

    straight = take(build(), 6)
    first = build()
    begin = take(first, 3)
    second = build()
    second.restore(asyncio.run(first.state()))
    assert begin + take(second, 3) == straight


def test_a_mixture_holds_every_source():
    one, other = Dataset([group("a")], batch=1), Dataset([group("b"), group("c")], batch=2)
    mixture = Mixture([one, other])
    assert all(sorted(batch) == ["a", "b", "c"] for batch in take(mixture, 2))
    copy = Mixture([Dataset([group("a")], batch=1), Dataset([group("b"), group("c")], batch=2)])
    copy.restore(asyncio.run(mixture.state()))
    assert copy.sources[1].draws == 4
