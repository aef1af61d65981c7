"""VRPO: a preference model explains part of the noise in labels, and so the policy need not learn from that part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from guerdon.advantages.segments import Paths, Segments, paths, segments
from guerdon.losses.auxiliary import PairLoss, expected, ramp, surprise
from guerdon.losses.base import PerGroup
from guerdon.losses.policy import on_mask
from guerdon.losses.preference import Level, direction, token_sum
from guerdon.marks import mark, marked
from guerdon.method import Card, Method, Role, Term
from guerdon.reduce import group_mean
from guerdon.types import Batch, Episode, Group

CARD = Card(
    slug="vrpo",
    name="VRPO",
    family="preference",
    paper="Ye et al. 2025, Robust reinforcement learning from human feedback for LLMs fine-tuning, arXiv:2504.03784",
    summary="Subtracts from the loss of a labelled pair what a preference model expects of it, and adds it back on"
    " unlabelled pairs of the reference policy.",
    differs="The preference model is what the rows say, unless `refresh` asks for a snapshot of the policy itself.",
)


def vrpo(
    beta: float = 0.1,
    refresh: int = 0,
    loss: PairLoss = ramp,
    level: Level = token_sum,
    epochs: int = 1,
    minibatches: int = 1,
) -> Method:
    """L = mean over labelled pairs of l(m) - E_g[l](m) + mean over their synthetic pairs of E_g[l](m').

    E_g[l](m) = g l(m) + (1 - g) l(-m), g the preference model's probability that the first of a pair beats the second,
    m = beta ([log pi / ref](first) - [log pi / ref](second)); of a labelled pair the first is the chosen. A group is
    the labelled pair with any number of synthetic ones, both replies of which `ref` sampled (see `with_synthetic`);
    without any, the loss is l(m). refresh: g = sigmoid(m) of a frozen copy of the policy, made anew after so many
    updates; 0: g as marked. loss: bounded by default, since with `losses.auxiliary.logistic` L has no lower bound.
    """
    settings = dict(locals())
    roles = {"ref": Role(), **({"snapshot": Role(refresh=refresh)} if refresh else {})}
    return Method(
        terms=(Term(VarianceReduced(beta, loss, level, own=refresh > 0), group_mean, name="preference"),),
        roles=roles,
        epochs=epochs,
        minibatches=minibatches,
        settings=settings,
    )


@dataclass(frozen=True)
class VarianceReduced(PerGroup):
    """The loss of `vrpo` on each token of a group; with `group_mean` each labelled pair counts once.

    Sequences are told apart by the stream `pair`: 0 for the labelled two, of which the chosen has the higher return,
    and 1, 2, ... for the two of each synthetic pair. own: g from the stream `snapshot`; else the stream `wins`, on each
    sequence g of it over the other of its pair. A group whose labelled pair is tied has loss 0.
    """

    beta: float = 0.1
    loss: PairLoss = ramp
    level: Level = token_sum
    own: bool = False

    @property
    def needs(self) -> Sequence[str]:  # type: ignore[override]
        return ("ref", "snapshot") if self.own else ("ref",)

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        found = paths(batch)
        pairs = _pairs(found, batch)
        ref = on_mask(batch.stream("ref"), batch)
        m = pairs.margin(self.beta * self.level(found, batch, on_mask(out["logp"], batch) - ref))  # [Q]
        g = self._g(found, pairs, batch, ref).to(m.dtype)  # [Q]
        synthetic = pairs.spread_count(pairs.synthetic)  # [Q] synthetic pairs of the pair's group
        seen = torch.where(synthetic > 0, surprise(self.loss, m, g), self.loss(m))
        each = torch.where(pairs.synthetic, expected(self.loss, m, g) / synthetic.clamp(min=1), seen)
        loss = torch.where(pairs.labelled > 0, pairs.groups.sum(each), torch.zeros_like(pairs.labelled).to(m.dtype))
        return on_mask(found.sequences.spread(found.groups.spread(loss)), batch)  # [N]

    def _g(self, found: Paths, pairs: Pairs, batch: Batch, ref: Tensor) -> Tensor:
        if self.own:
            frozen = on_mask(batch.stream("snapshot"), batch) - ref
            return torch.sigmoid(pairs.margin(self.beta * self.level(found, batch, frozen))).detach()
        g = marked(found, batch, "wins")  # [S]
        both = pairs.members.sum(g)
        needed = pairs.synthetic | (pairs.spread_count(pairs.synthetic) > 0)
        if bool((needed & ((both - 1).abs() > 1e-4)).any()):
            wrong = float(both[needed & ((both - 1).abs() > 1e-4)][0])
            raise ValueError(
                f"the probabilities that the two replies of a pair win add up to {wrong:g}; expected 1: mark the pairs"
                " with `methods.vrpo.with_synthetic`, or set `refresh` to have the policy's own snapshot judge them"
            )
        return pairs.members.sum(torch.where(pairs.sign > 0, g, torch.zeros_like(g)))


@dataclass(frozen=True)
class Pairs:
    """The Q pairs of a batch, labelled and synthetic.

    members: S sequences in Q pairs. groups: Q pairs in G groups. sign: +1 for the first of a pair, -1 for the second,
    0 for both of a tied labelled pair [S]. synthetic: [Q] bool. labelled: untied labelled pairs of each group [G].
    """

    members: Segments
    groups: Segments
    sign: Tensor
    synthetic: Tensor
    labelled: Tensor

    def margin(self, values: Tensor) -> Tensor:
        """First minus second of each pair. [S] -> [Q]"""
        return self.members.sum(self.sign.to(values.dtype) * values)

    def spread_count(self, chosen: Tensor) -> Tensor:
        """How many of each pair's group are chosen. [Q] bool -> [Q]"""
        return self.groups.spread(self.groups.sum(chosen.long()))


def _pairs(found: Paths, batch: Batch) -> Pairs:
    number = marked(found, batch, "pair").round().long()  # [S]
    key = found.groups.index * (int(number.max()) + 1) + number
    members = segments(key)
    sign = direction(replace(found, groups=members))  # [S], 0 for synthetic pairs, which have no return
    first = _is_first(members)
    sign = torch.where(number > 0, torch.where(first, 1.0, -1.0).to(sign.dtype), sign)
    where = torch.zeros(members.count, dtype=torch.long, device=key.device)
    groups = segments(where.scatter(0, members.index, found.groups.index))
    synthetic = torch.zeros(members.count, dtype=torch.bool, device=key.device).scatter(0, members.index, number > 0)
    untied = (members.sum(sign.abs()) > 0) & ~synthetic
    return Pairs(members, groups, sign, synthetic, groups.sum(untied.long()))


def _is_first(members: Segments) -> Tensor:
    """Whether a sequence is the first of its pair. [S] bool"""
    rows = torch.arange(len(members.index), device=members.index.device)
    first = torch.full((members.count,), len(rows), device=rows.device).scatter_reduce(0, members.index, rows, "amin")
    return rows == first[members.index]


def with_synthetic(pair: Group, g: float, synthetic: Sequence[tuple[Episode, Episode, float]] = ()) -> Group:
    """A labelled pair as VRPO learns from it.

    pair: as of `Pair.group`, the chosen first. g: the probability that the chosen beats the rejected. synthetic: pairs
    of replies to the same prompt with the probability that the first beats the second; what they were scored is left
    out. Probabilities in [0, 1].
    """
    for one in (g, *(g for *_, g in synthetic)):
        if not 0 <= one <= 1:
            raise ValueError(f"{pair[0].task.id}: a probability is {one}; expected 0 to 1")
    group = [mark(pair[0], wins=g), mark(pair[1], wins=1 - g)]
    for number, (first, second, chance) in enumerate(synthetic, start=1):
        group += [
            mark(replace(first, scores={}), pair=number, wins=chance),
            mark(replace(second, scores={}), pair=number, wins=1 - chance),
        ]
    return group
