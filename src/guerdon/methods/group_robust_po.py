"""Group-robust preference optimisation: the loss of the worst group of people, not of the average pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from torch import Tensor

from guerdon.advantages.segments import Paths, paths
from guerdon.losses.paired import IPO
from guerdon.losses.policy import Corrected
from guerdon.losses.preference import DPO
from guerdon.losses.robust import exponentiated, group_losses
from guerdon.marks import mark, marked
from guerdon.method import Card, Memory, Method, Objective, Role, Term
from guerdon.reduce import group_mean
from guerdon.types import Batch, Group

CARD = Card(
    slug="group-robust-po",
    name="Group-robust PO",
    family="preference",
    paper="Ramesh et al. 2024, Group robust preference optimization in reward-free RLHF, arXiv:2405.20304",
    summary="DPO on the worst of several groups of labellers: weights of groups rise with their losses.",
    differs=(
        "Group losses are means over the batch, so that eta does not depend on its size, and the weights move once per"
        " batch, before its gradient, however it is cut. The last policy is kept, not an average."
    ),
)


Eta = Annotated[float, "how fast the weights of groups follow their losses; 0: equal weights, for ever"]
Groups = Annotated[int, "how many groups the pairs are of"]


def group_robust_po(beta: float = 0.1, smoothing: float = 0.0, eta: Eta = 0.05, groups: Groups = 2) -> Method:
    """min over pi of max over alpha in the simplex of sum_g alpha_g E_g[l], l the loss of DPO with beta and smoothing.

    Per batch B, first alpha_g <- alpha_g exp(eta L_g), normalised, L_g = (N / N_g) (1 / |B|) sum over pairs of g of l;
    then the gradient of sum_g alpha_g L_g. groups: how many there are, with ids from 0; the pairs carry id and share
    N_g / N (see `by_group`). eta = 0 is the fixed weighting by 1 / N_g.
    """
    return _robust(DPO(beta, smoothing), eta, groups, dict(locals()))


def group_robust_ipo(beta: float = 0.1, eta: Eta = 0.001, groups: Groups = 2) -> Method:
    """As `group_robust_po`, with the loss of IPO, (h - 1 / (2 beta))^2; eta suits losses of its size, 25 at 0.1."""
    return _robust(IPO(beta), eta, groups, dict(locals()))


def _robust(loss: Objective, eta: float, groups: int, settings: Mapping[str, Any]) -> Method:
    return Method(
        terms=(Term(Corrected(loss), group_mean, name="preference"),),
        adaptive=WorstGroup(loss, groups, eta),
        roles={"ref": Role()},
        settings=settings,
    )


@dataclass(frozen=True)
class WorstGroup:
    """Weighs each pair by alpha_g N / N_g, as the stream `correction`, and moves alpha by the losses before the update.

    loss: of pairs, constant on a pair's tokens. Memory: `alpha` [groups], and `group_loss`, the mean loss of each group
    where it was last seen.
    """

    loss: Objective
    groups: int
    eta: float

    def __post_init__(self) -> None:
        if self.groups < 1:
            raise ValueError(f"groups is {self.groups}; expected at least 1")
        if self.eta < 0:
            raise ValueError(f"eta is {self.eta}; expected 0 (weights stay) or more")

    @property
    def needs(self) -> Sequence[str]:
        return (*self.loss.needs, "old")

    def start(self) -> Memory:
        return {
            "alpha": torch.full((self.groups,), 1 / self.groups, dtype=torch.float64),
            "group_loss": torch.zeros(self.groups, dtype=torch.float64),
        }

    def __call__(self, batch: Batch, memory: Memory) -> tuple[Batch, Memory]:
        found = paths(batch)
        loss = self.loss({"logp": batch.stream("old")}, batch)  # [N]
        pair_loss = found.groups.mean(found.sequences.masked_mean(loss, batch.mask).double())  # [P]
        group, share = self._groups(found, batch)
        alpha = exponentiated(memory["alpha"], group_losses(pair_loss, group, share, self.groups), self.eta)
        weight = found.sequences.spread(found.groups.spread(alpha[group] / share))  # [N]
        return batch.put(correction=weight.float()), {
            "alpha": alpha,
            "group_loss": _last_seen(memory["group_loss"], pair_loss, group),
        }

    def _groups(self, found: Paths, batch: Batch) -> tuple[Tensor, Tensor]:
        """Group and share of each pair. [P]"""
        group = found.groups.mean(marked(found, batch, "subgroup")).round().long()
        share = found.groups.mean(marked(found, batch, "share_of_all"))
        if not bool((share > 0).all()):
            raise ValueError("a pair has no group: mark the pairs with `methods.group_robust_po.by_group`")
        if int(group.max()) >= self.groups:
            raise ValueError(f"a pair is of group {int(group.max())}; expected 0 to {self.groups - 1}: set `groups`")
        return group, share


def _last_seen(before: Tensor, loss: Tensor, group: Tensor) -> Tensor:
    """The mean loss of each group in this batch, or what it was before where the batch has none of it. [K]"""
    count = torch.bincount(group, minlength=len(before))
    total = before.new_zeros(len(before)).index_add(0, group, loss)
    return torch.where(count > 0, total / count.clamp(min=1), before)


def by_group(pairs: Sequence[Group], groups: int, column: str = "group") -> list[Group]:
    """All pairs of a data set, marked with their group, numbered in the order of its labels, and with its share.

    The label is `Task.data[column]`, text or a number. ValueError where one is missing, or when there are not as many
    labels as `groups` says.
    """
    labels = [_label(pair, column) for pair in pairs]
    counts = Counter(labels)
    order = {label: i for i, label in enumerate(sorted(counts, key=_place))}
    if len(order) != groups:
        named = ", ".join(f"{label!r}: {counts[label]}" for label in list(order)[:8])
        raise ValueError(f"the pairs are of {len(order)} groups ({named}); expected {groups}: set `groups`")
    return [
        [mark(one, subgroup=order[label], share_of_all=counts[label] / len(pairs)) for one in pair]
        for pair, label in zip(pairs, labels, strict=True)
    ]


def _label(pair: Group, column: str) -> str | int:
    task = pair[0].task
    label = task.data.get(column)
    if isinstance(label, bool) or not isinstance(label, str | int):
        raise ValueError(f"{task.id}: its {column!r} is {label!r}; expected the name or number of its group")
    return label


def _place(label: str | int) -> tuple[bool, int, str]:
    """Numbers before names, each in their order."""
    return (isinstance(label, str), label if isinstance(label, int) else 0, str(label))
