"""ODIN: does a second head keep the liking for length out of the reward?

Items have a content x of 8 numbers, a true quality w.x and an independent length of mean 0 and variance 1; a reward
model sees 32 features, tanh of a random mix of both. Labellers prefer one of two items with probability
sigmoid(2 (dq + 1.5 dl)). A network of two hidden layers of 64 learns from 600 batches of 256 fresh pairs. On items held
out: `correlation` of the reward with length (Pearson's, its magnitude) and `rank_correlation` (Spearman's); `accuracy`
on pairs by true quality; `opposed`, that where the better is the shorter. `policy_quality` and `policy_length` are of
the policy that each reward would make of a uniform one over 64 items per prompt, at a divergence of 1 nat on average.

In the linked arms length and quality truly correlate, by 0.5: what is taken out is then of use.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from guerdon.claims.base import Claim, Expect, Measured
from guerdon.evaluation.correlation import correlations
from guerdon.likelihoods.scores import overlap
from guerdon.losses.reward_model import bradley_terry
from guerdon.method import Heads
from guerdon.methods.odin import LENGTH, QUALITY, length_loss
from guerdon.models.reward import weight_of
from guerdon.synthetic.labels import Labellers, Labels
from guerdon.synthetic.vectors import Items, World

DIM, FEATURES, WIDTH = 8, 32, 64
UPDATES, PAIRS, LR = 600, 256, 1e-3
HELD, PROMPTS, CHOICES, NATS = 4000, 200, 64, 1.0
LABELS = Labels(groups=(Labellers(temperature=0.5),), length_bias=1.5)

PLAIN, TWO, ODIN, THIRD = "one head", "two heads", "ODIN", "ODIN, sum too"
PLAIN_LINKED, ODIN_LINKED = "one head, linked", "ODIN, linked"


@dataclass(frozen=True)
class Arm:
    """heads: 1 or 2. weight: lambda_L and lambda_O. of_sum: the third correlation. link: of length with quality."""

    heads: int = 2
    weight: float = 1.0
    of_sum: bool = False
    link: float = 0.0


ARMS = {
    PLAIN: Arm(heads=1, weight=0.0),
    TWO: Arm(weight=0.0),
    ODIN: Arm(),
    THIRD: Arm(of_sum=True),
    PLAIN_LINKED: Arm(heads=1, weight=0.0, link=0.5),
    ODIN_LINKED: Arm(link=0.5),
}


class Model(nn.Module):
    """Features to scores, as a reward model has them: a trunk and `score`, one row per head."""

    def __init__(self, heads: Heads) -> None:
        super().__init__()
        self.heads = heads
        hidden = [nn.Linear(FEATURES, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU()]
        self.trunk, self.score = nn.Sequential(*hidden), nn.Linear(WIDTH, len(heads.names), bias=False)

    def weight(self) -> Tensor:
        return weight_of(self, self.heads)

    def forward(self, features: Tensor) -> Tensor:  # [n, 32] -> [n, K]
        return self.trunk(features) @ self.weight().T  # type: ignore[no-any-return]


def measure(name: str, seed: int, quick: bool) -> Measured:
    arm, updates = ARMS[name], 60 if quick else UPDATES
    world = World(dim=DIM, length_link=arm.link, seed=seed)
    model = train(arm, world, seed, updates)
    figures = {**judged(model, world), **chosen(model, world)}
    return Measured(figures, {"gradient_steps": updates, "labels": updates * PAIRS})


def train(arm: Arm, world: World, seed: int, updates: int) -> Model:
    torch.manual_seed(seed)
    model = Model(Heads() if arm.heads == 1 else Heads((QUALITY, LENGTH), unit_norm=True))
    optimizer = torch.optim.Adam(model.parameters(), lr=LR)
    for step in range(updates):
        loss = step_loss(arm, model, world, step)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return model


def step_loss(arm: Arm, model: Model, world: World, step: int) -> Tensor:
    found = world.compare(LABELS, PAIRS, seed=step + 1)
    won = torch.from_numpy(found.drawn.outcome > 0.5)
    first, second = (model(features(world, items)) for items in (found.a, found.b))  # [P, K]
    d = (first - second).sum(1)
    loss = bradley_terry(torch.where(won, d, -d)).mean()
    if not arm.weight:
        return loss
    scores = torch.cat([first, second])
    lengths = torch.cat([column(items.traits.length) for items in (found.a, found.b)])
    rho = length_loss(scores[:, 0], scores[:, 1], lengths, arm.of_sum)
    return loss + arm.weight * (rho + overlap(model.weight()))


def judged(model: Model, world: World) -> dict[str, float]:
    items = world.items(2 * HELD, seed=0)
    reward, quality, length = rewarded(model, world, items), column(items.traits.quality), column(items.traits.length)
    told = correlations(reward.tolist(), length.tolist())
    dr, dq, dl = (one[:HELD] - one[HELD:] for one in (reward, quality, length))
    right, opposed = (dr * dq > 0).float(), dq * dl < 0
    pearson, spearman = (abs(one.mean) if (one := told[kind]) else 0.0 for kind in ("pearson", "spearman"))
    return {
        "correlation": pearson,
        "rank_correlation": spearman,
        "accuracy": float(right.mean()),
        "opposed": float(right[opposed].mean()),
    }


def chosen(model: Model, world: World) -> dict[str, float]:
    """Quality and length that a policy gets which is as far from uniform as every arm's."""
    items = world.items(PROMPTS * CHOICES, seed=10**6)
    shape = (PROMPTS, CHOICES)
    policy = tilted(rewarded(model, world, items).view(shape), NATS)
    quality, length = (column(one).view(shape) for one in (items.traits.quality, items.traits.length))
    return {
        "policy_quality": float((policy * quality).sum(1).mean()),
        "policy_length": float((policy * length).sum(1).mean()),
    }


def tilted(reward: Tensor, nats: float) -> Tensor:
    """softmax(s r) over each prompt's choices with the s >= 0 at which KL to uniform is `nats` on average. [P, C]"""
    low, high = 0.0, 1e4 / float(reward.std())
    for _ in range(60):
        scale = (low * high) ** 0.5 if low else high / 2
        policy = (scale * reward.double()).softmax(1)
        divergence = (torch.special.entr(policy).sum(1).neg() + torch.tensor(CHOICES).double().log()).mean()
        low, high = (scale, high) if divergence < nats else (low, scale)
    return policy


def rewarded(model: Model, world: World, items: Items) -> Tensor:
    """The first head alone. [n]"""
    with torch.no_grad():
        scores: Tensor = model(features(world, items))
    return scores[:, 0]


def features(world: World, items: Items) -> Tensor:
    return torch.from_numpy(world.mixed(items, FEATURES)).float()


def column(values: object) -> Tensor:
    return torch.as_tensor(values).float()


CLAIM = Claim(
    slug="odin",
    claim="A reward model with a head that takes in length hardly correlates with length, and orders by quality.",
    arms=tuple(ARMS),
    run=measure,
    expect=(
        Expect("correlation", ODIN, PLAIN, "lower", least=0.3),
        Expect("correlation", ODIN, TWO, "lower", least=0.3),
        Expect("accuracy", ODIN, PLAIN, least=0.1),
        Expect("accuracy", ODIN, TWO, least=0.1),
        Expect("opposed", ODIN, PLAIN, least=0.2),
        Expect("policy_quality", ODIN, PLAIN),
        Expect("policy_length", ODIN, PLAIN, "lower"),
        Expect("accuracy", ODIN_LINKED, ODIN, "lower", control=True),
        Expect("accuracy", THIRD, ODIN, control=True),
    ),
    source=(
        "guerdon.losses.correlation",
        "guerdon.losses.reward_model",
        "guerdon.likelihoods.scores",
        "guerdon.models.reward",
        "guerdon.synthetic.labels",
        "guerdon.synthetic.vectors",
    ),
)
