"""WARM: is the average of reward models' weights better than one of them, and than the average of their predictions?

The true reward is a random sum of 16 tanh features of 20 numbers. A network of two hidden layers of 128 first learns
the features (its pre-training); a linear head is then fitted on 1500 pairs, of whose labels a quarter is flipped, with
the network frozen. Six reward models start there and learn from those pairs for 400 steps of Adam on 128 pairs each, in
orders of their own, at rates of 0.01, 0.005 and 0.003 in turn. `clean`: accuracy on fresh pairs; `shifted`: on pairs
twice as far from the origin; `memorised`: share of the flipped labels that a model agrees with; `best_of_64`: true
reward, in its own deviations, of the best of 64 inputs by the model. `one model` is the mean over the six;
`one model, longer` is a single one that takes all 2400 steps at 0.005. `barrier` is by how much models between two
members fall below the line between their accuracies, at most, and `apart` how far members are apart.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import torch
from torch import Tensor, nn

from guerdon.claims.base import Claim, Expect, Measured
from guerdon.losses.reward_model import bradley_terry
from guerdon.methods.warm import connectivity, memorised
from guerdon.models.soup import State, average, distance

DIM, UNITS, WIDTH = 20, 16, 128
PAIRS, FLIPPED, BATCH = 1500, 0.25, 128
MEMBERS, STEPS, RATES, LONG_RATE = 6, 400, (1e-2, 5e-3, 3e-3), 5e-3
PRETRAINING, PROBE = 1500, 300
HELD, PROMPTS, CHOICES, SHIFT = 4000, 200, 64, 2.0

ONE, LONG, MEAN, WARM = "one model", "one model, longer", "mean of predictions", "WARM"

Reward = Callable[[Tensor], Tensor]
"""[.., 20] -> [..]"""


@dataclass(frozen=True)
class Problem:
    """layer, head: of the true reward [20, 16], [16]. better, worse: pairs as labelled [1500, 20]. wrong: flipped
    [1500]."""

    layer: Tensor
    head: Tensor
    better: Tensor
    worse: Tensor
    wrong: Tensor

    def gold(self, x: Tensor) -> Tensor:
        return torch.tanh(x @ self.layer) @ self.head


@dataclass(frozen=True)
class Trained:
    """What all arms are made of."""

    problem: Problem
    members: list[nn.Sequential]
    longer: nn.Sequential


def problem(seed: int) -> Problem:
    numbers = torch.Generator().manual_seed(seed)
    layer = 2 * torch.randn(DIM, UNITS, generator=numbers) / DIM**0.5
    head = torch.randn(UNITS, generator=numbers)
    x, y = torch.randn(2, PAIRS, DIM, generator=numbers)
    wrong = torch.rand(PAIRS, generator=numbers) < FLIPPED
    first = (torch.tanh(x @ layer) @ head > torch.tanh(y @ layer) @ head) != wrong
    return Problem(layer, head, torch.where(first[:, None], x, y), torch.where(first[:, None], y, x), wrong)


@lru_cache(maxsize=1)
def trained(seed: int, quick: bool) -> Trained:
    """The same models for every arm of a seed."""
    one, share = problem(seed), 10 if quick else 1
    torch.manual_seed(seed)
    start = pretrained(one, PRETRAINING // share)
    fit(one, start, [*start[-1].parameters()], PROBE // share, 1e-2, seed)
    members = [
        fit(one, copy.deepcopy(start), None, STEPS // share, RATES[m % len(RATES)], 1000 * seed + m)
        for m in range(MEMBERS)
    ]
    longer = fit(one, copy.deepcopy(start), None, MEMBERS * STEPS // share, LONG_RATE, 1000 * seed)
    return Trained(one, members, longer)


def pretrained(one: Problem, steps: int) -> nn.Sequential:
    """A network whose body knows the features of the truth, under a fresh head of one score."""
    body = [nn.Linear(DIM, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU()]
    net = nn.Sequential(*body, nn.Linear(WIDTH, UNITS))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(steps):
        x = torch.randn(256, DIM)
        _step(optimizer, (net(x) - torch.tanh(x @ one.layer)).square().mean())
    return nn.Sequential(*body, nn.Linear(WIDTH, 1))


def fit(
    one: Problem, net: nn.Sequential, what: list[nn.Parameter] | None, steps: int, lr: float, seed: int
) -> nn.Sequential:
    """Bradley-Terry on the labelled pairs, in an order drawn from the seed. what: the parameters; None: all."""
    numbers = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(what or net.parameters(), lr=lr)
    for _ in range(steps):
        rows = torch.randint(PAIRS, (BATCH,), generator=numbers)
        _step(optimizer, bradley_terry((net(one.better[rows]) - net(one.worse[rows]))[:, 0]).mean())
    return net


def _step(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def measure(arm: str, seed: int, quick: bool) -> Measured:
    found = trained(seed, quick)
    with torch.no_grad():
        figures = [judged(found.problem, reward, seed) for reward in rewards(arm, found)]
        told = {name: sum(one[name] for one in figures) / len(figures) for name in figures[0]}
        if arm == WARM:
            told |= between(found, seed)
    steps = MEMBERS * STEPS // (10 if quick else 1)
    return Measured(told, {"gradient_steps": steps, "labels": PAIRS})


def rewards(arm: str, found: Trained) -> list[Reward]:
    """What is judged of an arm; more than one are averaged in their figures."""
    members = [_reward(one) for one in found.members]
    if arm == ONE:
        return members
    if arm == LONG:
        return [_reward(found.longer)]
    if arm == MEAN:
        return [lambda x: torch.stack([one(x) for one in members]).mean(0)]
    return [_loaded(found, average([one.state_dict() for one in found.members], related=-1))]


def _reward(net: nn.Sequential) -> Reward:
    return lambda x: net(x)[..., 0]


def _loaded(found: Trained, state: State) -> Reward:
    net = copy.deepcopy(found.members[0])
    net.load_state_dict(dict(state))
    return _reward(net)


def judged(one: Problem, reward: Reward, seed: int) -> dict[str, float]:
    numbers = torch.Generator().manual_seed(10**6 + seed)
    x, y = torch.randn(2, HELD, DIM, generator=numbers)
    many = torch.randn(PROMPTS, CHOICES, DIM, generator=numbers)
    gold = one.gold(many)
    best = gold.gather(1, reward(many).argmax(1, keepdim=True))
    margins = reward(one.better) - reward(one.worse)
    return {
        "clean": _accuracy(one, reward, x, y),
        "shifted": _accuracy(one, reward, SHIFT * x, SHIFT * y),
        "memorised": memorised(margins.tolist(), one.wrong.tolist()),
        "best_of_64": float(best.mean() / gold.std()),
    }


def between(found: Trained, seed: int) -> dict[str, float]:
    """How well members go together."""
    numbers = torch.Generator().manual_seed(2 * 10**6 + seed)
    x, y = torch.randn(2, HELD, DIM, generator=numbers)
    states = [one.state_dict() for one in found.members]

    def accuracy(state: State) -> float:
        return _accuracy(found.problem, _loaded(found, state), x, y)

    # Half way, where a barrier is highest: at the rates of this experiment members are no longer alike in direction.
    lines = [connectivity(a, b, accuracy, points=3, related=-1) for a, b in combinations(states, 2)]
    apart = [distance(a, b) for a, b in combinations(states, 2)]
    barrier = max(point.line - point.accuracy for line in lines for point in line)
    return {"barrier": barrier, "apart": sum(apart) / len(apart)}


def _accuracy(one: Problem, reward: Reward, x: Tensor, y: Tensor) -> float:
    return float(((reward(x) > reward(y)) == (one.gold(x) > one.gold(y))).float().mean())


CLAIM = Claim(
    slug="warm",
    claim="Reward models averaged in their weights beat one of them and the mean of their predictions, and memorise"
    " fewer wrong labels.",
    arms=(ONE, LONG, MEAN, WARM),
    run=measure,
    expect=(
        Expect("clean", WARM, MEAN),
        Expect("clean", MEAN, ONE),
        Expect("shifted", WARM, MEAN),
        Expect("shifted", MEAN, ONE),
        Expect("memorised", WARM, ONE, "lower"),
        Expect("memorised", WARM, MEAN, "lower"),
        Expect("best_of_64", WARM, ONE),
        Expect("memorised", MEAN, ONE, control=True),
        Expect("clean", WARM, LONG, control=True),
    ),
    seeds=10,
    source=("guerdon.models.soup", "guerdon.losses.reward_model"),
)
