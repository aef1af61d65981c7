"""DRPO: logged pairs and fresh samples together, right if either the preference model or the reference is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from guerdon.advantages.base import Reads
from guerdon.advantages.segments import paths, segments
from guerdon.losses.auxiliary import bradley_terry
from guerdon.losses.base import PolicyLoss, reads
from guerdon.losses.divergence import KLToReference
from guerdon.losses.policy import LIMIT, PolicyGradient, advantages, on_mask
from guerdon.method import Card, Method, Role, Term
from guerdon.reduce import sequence_sum
from guerdon.rollouts.base import Context
from guerdon.rollouts.logged import LABELS, beside_logged
from guerdon.types import Batch, Group, Score

if TYPE_CHECKING:
    from guerdon.rewards.base import Reward

CARD = Card(
    slug="drpo",
    name="DRPO",
    family="preference",
    paper="Xu et al. 2025, Doubly robust alignment for large language models, arXiv:2506.01183",
    summary="Raises the chance to win over the reference: a preference model's opinion of fresh samples, mended by what"
    " it gets wrong on logged pairs.",
    differs="Both orders of a pair are always taken. The opinion of fresh samples is counted from 1/2, which changes no"
    " expected gradient.",
)

DEFAULTS = {"samples_per_prompt": 2}

Prefer = Callable[[Group, Sequence[tuple[int, int]], Context], Awaitable[Sequence[float | None]]]
"""(group, pairs (i, j) of its episodes, context) -> the probability that i beats j, or None where it is not known."""


def drpo(
    beta: float = 0.04,
    ratio_clip: float = 2.5,
    direct: float = 1.0,
    residual: float = 1.0,
    baseline: float = 0.5,
    prefer: Prefer | None = None,
) -> Method:
    """Maximises E[g(y*, y_a)] + E[w(y_a) (z_a - g(y_a, y_b))] - beta KL(pi || ref) over pairs, both orders, y* ~ pi.

    w(y) = pi(y) / ref(y), z_a = 1 if y_a was preferred, g the preference model. L = - direct * mean over samples of
    (g(y*, y_a) - baseline) log pi(y*) - residual * mean over logged replies of clip(w, 1 / ratio_clip, ratio_clip)
    (z - g) log pi(y) + beta * mean over samples of sum_t k3_t; all weights detached. ratio_clip = 0: raw ratios.
    direct = 0: importance sampling alone; residual = 0: the preference model alone. prefer: g; without one every pair
    is a toss-up, and all rests on the reference. Made for one gradient step per batch of the policy that samples.
    """
    settings = dict(locals())
    if ratio_clip and ratio_clip < 1:
        raise ValueError(f"ratio_clip is {ratio_clip}; expected 0 (raw ratios), or 1 or more")
    terms = [
        Term(PolicyGradient(), sequence_sum, direct, mask="drawn", name="direct"),
        Term(LoggedResidual(ratio_clip), sequence_sum, residual, mask="logged", name="residual"),
        Term(KLToReference(), sequence_sum, beta, mask="drawn", name="kl"),
    ]
    return Method(
        terms=tuple(term for term in terms if term.scale),
        estimator=Apart(baseline),
        rollout=beside_logged,
        rewards=(DoublyRobust(prefer or toss_up),),
        roles={"ref": Role()},
        settings=settings,
    )


@dataclass(frozen=True)
class LoggedResidual(PolicyLoss):
    """-sg[clip(w, 1 / clip, clip) A] log pi, w = (pi / ref)(y) of the whole sequence and A what the label says beyond
    the preference model, on each token. clip = 0: w as it is, within e^+-20."""

    clip: float = 2.5
    needs = reads("ref")

    def __call__(self, out: Mapping[str, Tensor], batch: Batch) -> Tensor:
        sequences = segments(batch.seq)
        logp = on_mask(out["logp"], batch)
        log_w = sequences.sum(logp - on_mask(batch.stream("ref"), batch)).detach()  # [S]
        return -sequences.spread(ratio(log_w, self.clip)) * advantages(batch) * logp  # [N]


def ratio(log_w: Tensor, clip: float) -> Tensor:
    """exp(log w), clipped to 1 / clip .. clip unless clip is 0. log w 0.5, clip 2.5: 1.648721. [S]"""
    w = log_w.clamp(-LIMIT, LIMIT).exp()
    return w.clamp(1 / clip, clip) if clip else w


def doubly_robust(direct: Tensor, w: Tensor, z: Tensor, g: Tensor) -> Tensor:
    """psi = mean over the two orders of E[g(y*, other)] + w (z - g): the chance to beat the reference, from one pair.

    direct: E over y* ~ pi of g(y*, y_1) and g(y*, y_2); w: pi / ref of y_1 and y_2; z: 1 where that one was preferred;
    g: g(y_1, y_2) and g(y_2, y_1). All [P, 2] -> [P]
    """
    return (direct + w * (z - g)).mean(-1)


@dataclass(frozen=True)
class Apart(Reads):
    """Tells logged from drawn replies (bool streams `logged`, `drawn`), and takes each one's return as its advantage,
    that of drawn ones less `baseline`. Reads the stream `logged`, which `beside_logged` marks."""

    baseline: float = 0.5

    def __call__(self, batch: Batch) -> Batch:
        if not batch.has("logged"):
            raise ValueError("no reply is marked as logged: roll out with `rollouts.logged.beside_logged`")
        found = paths(batch)
        logged = batch.mask & (batch.stream("logged") > 0)
        drawn = batch.mask & ~logged
        returns = found.spread(found.returns, batch)
        return batch.put(advantage=torch.where(drawn, returns - self.baseline, returns), logged=logged, drawn=drawn)


@dataclass(frozen=True)
class DoublyRobust:
    """What each reply of a group weighs: g against the mean of the two logged ones for a sample; z - g for those.

    A reply about which the preference model says nothing has no score.
    """

    prefer: Prefer
    name: str = "doubly_robust"
    weight: float = 1.0
    needs_context = True

    async def __call__(self, group: Group, context: Context) -> list[Score]:
        place = {episode.notes.get("logged"): i for i, episode in enumerate(group)}
        if not set(LABELS) <= place.keys():
            raise ValueError(f"the group has logged replies {sorted(map(str, place))}; expected {LABELS}")
        chosen, rejected = (place[label] for label in LABELS)
        drawn = [i for i, episode in enumerate(group) if "logged" not in episode.notes]
        asked = [(chosen, rejected), *product(drawn, (chosen, rejected))]
        g = dict(zip(asked, await self.prefer(group, asked, context), strict=True))
        won = g[chosen, rejected]
        values: dict[int, float | None] = {i: _mean(g[i, chosen], g[i, rejected]) for i in drawn}
        values[chosen] = None if won is None else 1 - won
        values[rejected] = None if won is None else won - 1
        return [Score(values.get(i)) for i in range(len(group))]


def _mean(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else (a + b) / 2


async def toss_up(group: Group, pairs: Sequence[tuple[int, int]], context: Context) -> Sequence[float | None]:
    """g = 1/2: nothing is known about any pair."""
    return [0.5] * len(pairs)


@dataclass(frozen=True)
class ByReward:
    """g = sigmoid((r(a) - r(b)) / scale): the Bradley-Terry model of a reward, or of a reward model. scale > 0."""

    reward: Reward
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not self.scale > 0:
            raise ValueError(f"scale is {self.scale}; expected more than 0, in units of the reward")

    async def __call__(
        self, group: Group, pairs: Sequence[tuple[int, int]], context: Context
    ) -> Sequence[float | None]:
        scores = await self.reward(group, context)
        worth = [score.total() if score.applies else None for score in scores]
        return [self._wins(worth[i], worth[j]) for i, j in pairs]

    def _wins(self, a: float | None, b: float | None) -> float | None:
        if a is None or b is None:
            return None
        return float(bradley_terry(torch.tensor(a / self.scale), torch.tensor(b / self.scale)))
