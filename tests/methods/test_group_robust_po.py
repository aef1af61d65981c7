"""Weights of groups: by hand, once per batch however it is cut, resumed, and the gradient that follows."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from guerdon.collate import collate
from guerdon.methods import group_robust_po as file
from guerdon.methods.dpo import dpo
from guerdon.methods.group_robust_po import by_group, group_robust_ipo, group_robust_po
from guerdon.metrics import values
from guerdon.types import Episode, Pair, Span, Task
from tests.batches import make_batch, total
from tests.invariants.world import build, distance, gradients


def batch(groups=(0, 0, 0, 1), shares=(0.9, 0.9, 0.9, 0.1), margins=(1.0, 2.0, 0.5, -1.0)):
    """One pair per group id: one token each, log-ratios margin and 0."""
    n = len(groups)
    ref = [[0.0]] * (2 * n)
    one = make_batch(
        [1.0, -1.0] * n,
        groups=[i for i in range(n) for _ in range(2)],
        masks=[[1]] * (2 * n),
        ref=ref,
        subgroup=[[float(g)] for g in groups for _ in range(2)],
        share_of_all=[[s] for s in shares for _ in range(2)],
    )
    return one.put(old=torch.tensor([x for m in margins for x in (m, 0.0)]))


def pair_losses(margins, beta):
    return -torch.nn.functional.logsigmoid(beta * torch.tensor(margins).double())


def test_loss_and_weights_are_those_of_the_formula():
    method, one = group_robust_po(beta=1.0, eta=0.1), batch()
    ready, memory = method.adaptive(one, method.adaptive.start())
    l = pair_losses((1.0, 2.0, 0.5, -1.0), 1.0)  # noqa: E741
    losses = torch.stack([l[:3].sum() / 4 / 0.9, l[3] / 4 / 0.1])
    alpha = (0.5 * (0.1 * losses).exp()) / (0.5 * (0.1 * losses).exp()).sum()
    assert memory["alpha"].tolist() == pytest.approx(alpha.tolist(), abs=1e-7)
    assert memory["group_loss"].tolist() == pytest.approx([float(l[:3].mean()), float(l[3])], abs=1e-6)
    found = total(method.terms[0], {"logp": one.stream("old")}, ready)
    assert float(found) == pytest.approx(float((alpha * losses).sum()), abs=1e-6)


def test_the_gradient_of_a_pair_is_its_weight_times_its_own_and_none_goes_through_the_weights():
    method, one = group_robust_po(beta=1.0, eta=0.1), batch()
    ready, memory = method.adaptive(one, method.adaptive.start())
    logp = one.stream("old").clone().requires_grad_()
    total(method.terms[0], {"logp": logp}, ready).backward()
    margins = torch.tensor([1.0, 2.0, 0.5, -1.0])
    own = -torch.sigmoid(-margins)
    weight = memory["alpha"][[0, 0, 0, 1]].float() / torch.tensor([0.9, 0.9, 0.9, 0.1]) / 4
    assert logp.grad[::2].tolist() == pytest.approx((own * weight).tolist(), abs=1e-6)


def test_weights_by_size_that_do_not_move_are_dpo():
    method, one = group_robust_po(eta=0.0), batch()
    ready, _ = method.adaptive(one, {**method.adaptive.start(), "alpha": torch.tensor([0.9, 0.1]).double()})
    out = {"logp": one.stream("old")}
    assert float(total(method.terms[0], out, ready)) == pytest.approx(float(total(dpo().terms[0], out, one)), abs=1e-6)


def test_one_group_is_dpo():
    world, plain = build(file, group_robust_po(groups=1)), build(file, dpo())
    marked = by_group(labelled(world), 1)
    found = []
    for one in (world, plain):
        ready = one.learner.prepare("policy", collate(marked))
        one.learner.engines["policy"].forward_backward(ready, one.method.terms)
        found.append(gradients(one.learner.engines["policy"]))
    assert distance(*found) < 1e-5


def labelled(world):
    """The world's pairs, all of the group 'a'."""
    return [[replace(one, task=replace(one.task, data={"group": "a"})) for one in group] for group in world.groups()]


def test_a_group_the_batch_lacks_only_loses_against_others():
    method = group_robust_po(beta=1.0, eta=0.5)
    _, memory = method.adaptive(batch(groups=(0, 0), shares=(0.9, 0.9), margins=(0.0, 0.0)), method.adaptive.start())
    assert memory["alpha"][1] < 0.5
    assert memory["group_loss"][1] == 0.0


@pytest.mark.parametrize("tokens", [8, 10_000])
def test_weights_move_once_per_update_however_the_batch_is_cut(tokens):
    world = build(file, group_robust_po(eta=0.5), tokens=tokens)
    found = values(world.update(world.groups()))
    assert [found["alpha/0"], found["alpha/1"]] == pytest.approx([0.5, 0.5], abs=0.05)
    assert found["alpha/0"] + found["alpha/1"] == pytest.approx(1.0)
    assert found["group_loss/0"] == pytest.approx(np.log(2), abs=1e-5)


def test_weights_are_resumed(tmp_path):
    one, other = build(file), build(file)
    for seed in range(2):
        one.update(one.groups(seed=seed))
    one.learner.save(tmp_path)
    other.learner.restore(tmp_path)
    groups = one.groups(seed=2)
    first, second = values(one.update(groups)), values(other.update(groups))
    assert first["alpha/0"] == second["alpha/0"] != 0.5


# --- where groups come from ------------------------------------------------------------------------------------------


def pair(number, label):
    def reply(token):
        spans = [Span(np.array([1])), Span(np.array([token]), np.zeros(1), parent=0)]
        return Episode(Task(f"p.jsonl/{number}", "q", {} if label is None else {"group": label}), spans)

    return Pair(reply(2), reply(3)).group()


def test_pairs_are_marked_with_the_place_of_their_label_and_its_share():
    marked = by_group([pair(0, "b"), pair(1, "a"), pair(2, "b"), pair(3, "b")], 2)
    streams = [one.spans[1].extra for group in marked for one in group]
    assert [s["subgroup"] for s in streams] == [1, 1, 0, 0, 1, 1, 1, 1]
    assert [s["share_of_all"] for s in streams[:3]] == [0.75, 0.75, 0.25]
    assert not marked[0][0].spans[0].extra


def test_numbers_are_labels_in_their_own_order():
    marked = by_group([pair(0, 10), pair(1, 9)], 2)
    assert [group[0].spans[1].extra["subgroup"] for group in marked] == [1, 0]


def test_a_missing_label_and_another_number_of_groups_are_named():
    with pytest.raises(ValueError, match=r"p.jsonl/1: its 'group' is None"):
        by_group([pair(0, "a"), pair(1, None)], 2)
    with pytest.raises(ValueError, match=r"of 2 groups \('a': 1, 'b': 1\); expected 3"):
        by_group([pair(0, "a"), pair(1, "b")], 3)


def test_pairs_without_a_group_and_ids_beyond_are_refused():
    method = group_robust_po()
    with pytest.raises(ValueError, match="mark the pairs"):
        method.adaptive(batch(shares=(0.0,) * 4), method.adaptive.start())
    with pytest.raises(ValueError, match=r"of group 5; expected 0 to 1"):
        method.adaptive(batch(groups=(0, 0, 0, 5)), method.adaptive.start())


@pytest.mark.parametrize("wrong", [{"groups": 0}, {"eta": -0.1}])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match="expected"):
        group_robust_po(**wrong)


def test_the_weights_follow_the_losses_of_ipo():
    method, one = group_robust_ipo(beta=0.5, eta=0.1), batch()
    _, memory = method.adaptive(one, method.adaptive.start())
    assert memory["group_loss"].tolist() == pytest.approx([(0 + 1 + 0.25) / 3, 4.0])
