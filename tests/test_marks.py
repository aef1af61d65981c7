import numpy as np

from guerdon.advantages.segments import paths
from guerdon.collate import collate
from guerdon.marks import mark, marked
from guerdon.types import Episode, Span, Task


def episode(tokens):
    return Episode(Task("t", "q"), [Span(np.array([1])), Span(np.array(tokens), np.zeros(len(tokens)), parent=0)])


def test_a_mark_is_on_what_is_learned_and_read_back_by_sequence():
    batch = collate([[mark(episode([2, 3]), worth=0.1), episode([4])]])
    found = paths(batch)
    np.testing.assert_allclose(batch.stream("worth").tolist(), [0, 0.1, 0.1, 0, 0], atol=1e-7)
    np.testing.assert_allclose(marked(found, batch, "worth").tolist(), [0.1, 0.0], atol=1e-7)
    assert marked(found, batch, "other").tolist() == [0.0, 0.0]


def test_a_second_mark_is_beside_the_first():
    one = mark(mark(episode([2]), a=1.0), b=2.0)
    assert dict(one.spans[1].extra) == {"a": 1.0, "b": 2.0}
    assert not one.spans[0].extra
