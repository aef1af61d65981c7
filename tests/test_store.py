"""What is stored of an episode is enough to train from it again."""

import copy

import numpy as np
import pytest
import torch

from guerdon.collate import collate
from guerdon.store import read_episodes, write_episodes
from guerdon.types import Episode, Score, Span, Task, Verdict


def words(text):
    return {"role": "assistant", "content": text}


def turns():
    """Two turns with a tool's answer between them, sampled with truncation."""
    support = [np.array([3, 4]), np.array([4, 5, 6])]
    spans = [
        Span([1, 2, 3]),
        Span([4, 5], [-0.5, -1.25], 0, 7, words("zwei Äpfel 🍎"), {"temperature": 0.7, "support": support}),
        Span([9, 9], parent=1, message={"role": "tool", "content": "3 ≥ 2", "name": "calc"}),
        Span([6], [-0.1], 2, 8, words("né\n\t"), {"temperature": 0.7, "entropy": np.array([0.4], np.float32)}),
        Span([], [], 3, 8),
    ]
    task = Task("größe/1", [{"role": "user", "content": "¿cuánto?"}], {"answer": "3", "level": 2}, env="calc")
    scores = {
        "exact": Score(1.0, verdict=Verdict("right", "gleich", "三"), parts={"form": 0.25}),
        "steps": Score(spans={1: 0.5, 3: -0.5}, tokens={1: np.array([0.125, 0.0], np.float32)}),
        "none": Score(),
        "zero": Score(0.0, verdict=Verdict("no_answer")),
    }
    return Episode(task, spans, scores, stop="turns", sampled_from=np.array([7, 1, 2, 3]), notes={"guided": True})


def tree(task_id="tree"):
    """A trunk continued twice; the second branch has an entropy for each token."""
    spans = [
        Span([1, 2]),
        Span([3], [-0.3], 0, 1, words("a")),
        Span([4, 5], [-0.4, -0.5], 1, 1, words("b")),
        Span([6, 7], [-0.6, -0.7], 1, 2, words("c"), {"entropy": np.array([0.1, 0.2], np.float32)}),
    ]
    return Episode(Task(task_id, "1+1="), spans, {"exact": Score(0.5), "steps": Score(spans={2: 1.0})}, stop="length")


def same_batch(one, other):
    assert one.inputs.keys() == other.inputs.keys()
    assert one.extra.keys() == other.extra.keys()
    for name in ("mask", "seq", "episode", "group", "span", "behavior", "version", "reward", "share"):
        assert torch.equal(getattr(one, name), getattr(other, name)), name
    for name in one.extra:
        assert torch.equal(one.extra[name], other.extra[name]), name
    assert torch.equal(one.inputs["tokens"], other.inputs["tokens"])


@pytest.fixture
def groups():
    return [[turns(), copy.deepcopy(turns())], [tree()], [tree("other"), tree("other")]]


def test_groups_come_back_as_they_were(tmp_path, groups):
    write_episodes(tmp_path / "episodes" / "step-000001.parquet", 1, groups)
    back = read_episodes(tmp_path / "episodes" / "step-000001.parquet")
    assert [len(group) for group in back] == [2, 1, 2]
    for found, given in zip(sum(back, []), sum(groups, []), strict=True):  # noqa: RUF017
        assert found.task == given.task
        assert (found.role, found.stop, found.reply, found.notes) == (given.role, given.stop, given.reply, given.notes)
        assert np.array_equal(found.sampled_from, given.sampled_from)
        assert found.paths() == given.paths()
        for a, b in zip(found.spans, given.spans, strict=True):
            assert (a.parent, a.version, a.message) == (b.parent, b.version, b.message)
            assert a.sampled == b.sampled
            assert np.array_equal(a.tokens, b.tokens)
            assert a.logprobs is b.logprobs is None or np.array_equal(a.logprobs, b.logprobs)
        assert found.scores.keys() == given.scores.keys()
        for name, score in found.scores.items():
            expected = given.scores[name]
            assert (score.value, score.applies, score.verdict) == (expected.value, expected.applies, expected.verdict)
            assert (dict(score.spans), dict(score.parts)) == (dict(expected.spans), dict(expected.parts))
            assert {i: v.tolist() for i, v in score.tokens.items()} == {
                i: v.tolist() for i, v in expected.tokens.items()
            }


def test_what_is_read_trains_like_what_was_written(tmp_path, groups):
    weights = {"exact": 2.0, "steps": 0.5}
    write_episodes(tmp_path / "e.parquet", 1, groups)
    same_batch(collate(read_episodes(tmp_path / "e.parquet"), weights), collate(groups, weights))


def test_advantages_lie_beside_the_paths_they_belong_to(tmp_path):
    import pyarrow.parquet as pq

    judge = Episode(Task("judged", "?"), [Span([1]), Span([2], [-1.0], 0)], role="judge")
    policy = [[tree()], [tree("other")]]
    batch = collate(policy)
    batch = batch.put(advantage=torch.arange(len(batch), dtype=torch.float32))
    write_episodes(tmp_path / "e.parquet", 1, [[judge, *policy[0]], [judge], policy[1]], batch)
    found = [row["advantages"] for row in pq.read_table(tmp_path / "e.parquet").to_pylist()]
    lengths = [[len(path) for path in row] for row in found]
    assert lengths == [[], [5, 5], [], [5, 5]]
    assert [x for row in found for path in row for x in path] == list(range(20))


def test_a_half_written_file_never_has_the_name_of_a_whole_one(tmp_path, groups, monkeypatch):
    import pyarrow.parquet as pq

    def full(table, where):
        where.write_bytes(b"PAR1 half")
        raise OSError(28, "No space left on device")

    path = tmp_path / "step-000001.parquet"
    write_episodes(path, 1, groups[:1])
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(pq, "write_table", full)
        with pytest.raises(OSError, match="No space left"):
            write_episodes(path, 1, groups)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_cut_off_is_refused_by_its_name(tmp_path, groups):
    path = tmp_path / "step-000001.parquet"
    write_episodes(path, 1, groups)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"step-000001\.parquet is damaged"):
        read_episodes(path)


def test_data_that_json_has_no_word_for_is_kept_as_text_or_lists(tmp_path):
    data = {"array": np.arange(2), "pair": (1, 2), "number": np.float32(0.5), "kind": Task}
    write_episodes(tmp_path / "e.parquet", 1, [[Episode(Task("t", "?", data), [Span([1])])]])
    found = read_episodes(tmp_path / "e.parquet")[0][0].task.data
    assert found == {"array": [0, 1], "pair": [1, 2], "number": 0.5, "kind": str(Task)}
