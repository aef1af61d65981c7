"""Episodes laid flat, and cut without loss."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.collate import by_role, collate, micro_batches, minibatches, position, shard, unique_tokens
from guerdon.types import Episode, Pair, Score, Span, Task
from tests.batches import make_batch


def sampled(*tokens: int, parent: int = 0, logp: float = -1.0, **extra) -> Span:
    return Span(np.array(tokens), np.full(len(tokens), logp), parent=parent, extra=extra)


def episode(*spans: Span, value: float | None = None, task: str = "t", **scores: Score) -> Episode:
    given_scores = {"r": Score(value)} if value is not None else {}
    return Episode(Task(task, "p"), list(spans), {**given_scores, **scores})


def tree() -> Episode:
    """Prompt [1, 2], trunk [3], branches [4, 5] and [6]."""
    return episode(Span([1, 2]), sampled(3), sampled(4, 5, parent=1), sampled(6, parent=1), value=1.0)


def test_a_path_becomes_a_sequence_with_its_streams():
    batch = collate([[episode(Span([7, 8]), sampled(1, 2, logp=-0.5), value=2.0)]])
    assert batch.inputs["tokens"].tolist() == [7, 8, 1, 2]
    assert batch.mask.tolist() == [False, False, True, True]
    assert batch.behavior.tolist() == [0, 0, -0.5, -0.5]
    assert batch.reward.tolist() == [0, 0, 0, 2.0]


def test_tool_text_after_the_last_action_leaves_the_reward_on_the_action():
    batch = collate([[episode(Span([7]), sampled(1, 2), Span([9, 9], parent=1), value=3.0)]])
    assert batch.reward.tolist() == [0, 0, 3.0, 0, 0]
    assert batch.mask.tolist() == [False, True, True, False, False]


def test_a_tree_is_one_sequence_per_leaf_and_its_trunk_has_total_share_one():
    batch = collate([[tree()]])
    assert batch.inputs["tokens"].tolist() == [1, 2, 3, 4, 5, 1, 2, 3, 6]
    assert batch.share.tolist() == [0.5, 0.5, 0.5, 1, 1, 0.5, 0.5, 0.5, 1]
    returns = torch.zeros(2).index_add(0, batch.seq, batch.reward)
    assert returns.tolist() == [1.0, 1.0]
    first, inverse = unique_tokens(batch)
    assert len(first) == 6
    assert inverse.tolist()[:3] == inverse.tolist()[5:8]


def test_scores_land_on_spans_and_tokens():
    one = episode(Span([7]), sampled(1, 2), Span([5], parent=1), sampled(3, parent=2), value=1.0)
    one.scores["steps"] = Score(spans={1: 0.5})
    one.scores["dense"] = Score(tokens={3: np.array([0.25])})
    batch = collate([[one]], weights={"dense": 2.0})
    assert batch.reward.tolist() == [0, 0, 0.5, 0, 1.5]
    assert collate([[one]], weights={"dense": 0.0}).reward.tolist() == [0, 0, 0.5, 0, 1.0]


def test_a_reward_for_what_was_not_sampled_is_refused():
    one = episode(Span([7]), sampled(1), steps=Score(spans={0: 1.0}))
    with pytest.raises(ValueError, match="span 0, which the policy did not sample"):
        collate([[one]])
    with pytest.raises(ValueError, match="3 token values for span 1 of 1 tokens"):
        collate([[episode(Span([7]), sampled(1), dense=Score(tokens={1: np.ones(3)}))]])
    with pytest.raises(ValueError, match="without a sampled token"):
        collate([[episode(Span([7]), value=1.0)]])


def test_a_groups_prompt_is_one_span_and_two_groups_do_not_share():
    group = [episode(Span([1, 2]), sampled(3)), episode(Span([1, 2]), sampled(4))]
    other = [episode(Span([1, 2]), sampled(5))]
    batch = collate([group, other])
    assert batch.span[0] == batch.span[3]
    assert batch.span[0] != batch.span[6]
    assert len(unique_tokens(batch)[0]) == 4 + 3


def test_sampling_streams_come_along():
    spans = [sampled(1, 2, temperature=0.5, support=[np.array([1, 4]), np.array([2])]), sampled(3)]
    batch = collate([[episode(Span([7]), spans[0]), episode(Span([7]), spans[1])]])
    assert batch.extra["temperature"].tolist() == [1, 0.5, 0.5, 1, 1]
    assert batch.extra["support"].tolist() == [[-1, -1], [1, 4], [2, -1], [-1, -1], [-1, -1]]


def test_a_pair_is_a_group_whose_returns_differ_by_the_margin():
    pair = Pair(episode(Span([1]), sampled(2)), episode(Span([1]), sampled(3)), margin=0.5)
    batch = collate([pair.group()])
    assert torch.zeros(2).index_add(0, batch.seq, batch.reward).tolist() == [0.25, -0.25]


def test_players_of_different_roles_in_one_group_are_kept_apart():
    def play(task: str, role: str) -> Episode:
        one = episode(Span([7]), sampled(1), value=1.0, task=task)
        one.role = role
        return one

    group = [play("a", "policy"), play("b", "opponent"), play("c", "policy")]
    found = {role: [[e.task.id for e in g] for g in groups] for role, groups in by_role([group]).items()}
    assert found == {"policy": [["a", "c"]], "opponent": [["b"]]}


def test_judges_own_episodes_come_under_their_role():
    judged = Episode(Task("j", "p"), [Span([9]), sampled(8)], role="judge")
    group = [episode(Span([1]), sampled(2), r=Score(1.0, episodes=(judged,)))]
    assert by_role([group]) == {"policy": [group], "judge": [[judged]]}


episodes = st.builds(
    lambda lengths, prompt: [
        episode(Span(np.arange(prompt)), sampled(*range(n)), value=float(i)) for i, n in enumerate(lengths)
    ],
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.integers(1, 6),
)


@settings(max_examples=40, deadline=None)
@given(groups=st.lists(episodes, min_size=1, max_size=5), tokens=st.integers(1, 60), parts=st.integers(1, 4))
def test_every_cut_keeps_each_token_once_and_sequences_whole(groups, tokens, parts):
    batch = collate(groups)
    for unit in ("sequence", "group", "batch"):
        pieces = micro_batches(batch, tokens, unit)
        assert torch.cat(pieces).sort().values.tolist() == list(range(len(batch)))
        ids = batch.seq if unit == "sequence" else batch.group
        owners = [set(ids[piece].tolist()) for piece in pieces]
        assert sum(len(owner) for owner in owners) == len(set.union(*owners))
    for cut in (minibatches(batch, parts, seed=1), shard(batch, parts)):
        assert torch.cat(cut).sort().values.tolist() == list(range(len(batch)))


def test_positions_count_within_a_sequence():
    batch = collate([[tree()]])
    assert position(batch).tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 3]
    later = batch.select(batch.seq == 1)
    assert position(later).tolist() == [0, 1, 2, 3]


def test_short_rows_are_not_padded_to_the_long_ones():
    """Each row has at least 0.7 of the longest of its micro-batch: at most 0.3 of what goes through is padding."""
    lengths = [40, 2, 39, 3, 30, 2, 2, 27, 3, 14]
    batch = make_batch(groups=list(range(10)), masks=[[1] * n for n in lengths])
    cut = [batch.seq[rows].bincount().tolist() for rows in micro_batches(batch, 10_000)]
    found = [sorted(n for n in rows if n) for rows in cut]
    assert found == [[30, 39, 40], [27], [14], [3, 3], [2, 2, 2]]


def episode_of_length(prompt: int, length: int) -> Episode:
    return episode(Span(np.arange(prompt)), sampled(*range(length)), value=1.0)


def test_what_nothing_pads_is_counted_without_padding():
    batch = collate([[episode_of_length(4, n)] for n in (30, 6, 6, 6, 6)])
    assert len(micro_batches(batch, 74)) == 2  # the short ones begin another
    assert [len(rows) for rows in micro_batches(batch, 74, padded=False)] == [74]


def test_a_piece_of_a_group_may_be_twice_what_it_shares():
    batch = collate([[episode_of_length(20, 10) for _ in range(6)]])
    assert len(micro_batches(batch, 30)) == 3  # 40 at a time: the prompt and two completions
    assert len(micro_batches(batch, 80)) == 1
