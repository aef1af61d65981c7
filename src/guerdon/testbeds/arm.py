"""One arm of an experiment: a method on a testbed with a budget, through the real source, learner and loop."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from guerdon.claims.base import Measured
from guerdon.engines.local import LocalEngine, Optim
from guerdon.filters import weigh
from guerdon.learner import Learner
from guerdon.likelihoods.autoregressive import Autoregressive, Values
from guerdon.loop import train
from guerdon.method import Method
from guerdon.metrics import Stats, values
from guerdon.rewards.scoring import Fault
from guerdon.sources import Rollouts, Starved
from guerdon.tasks.base import Listed, Shuffled
from guerdon.testbeds.base import Testbed
from guerdon.testbeds.exact import oracle_of
from guerdon.testbeds.figures import KS, exact, sampled
from guerdon.testbeds.model import Model
from guerdon.testbeds.sampler import Noise, StepSampler
from guerdon.types import EMPTY, Group

if TYPE_CHECKING:
    from guerdon.runner import Runner


@dataclass(frozen=True)
class Budget:
    """What each arm may use, and in which portions: the update that reaches `sampled_tokens` is the last.

    prompts, samples: tasks of one update, and replies to each. points: how often the policy is measured on the way, at
    equal distances. final: replies to each task in the last measurement, on_the_way: in the others (where replies
    cannot be listed).
    """

    sampled_tokens: int
    prompts: int = 8
    samples: int = 16
    points: int = 10
    on_the_way: int = 4
    final: int = 32

    def __post_init__(self) -> None:
        for name in ("sampled_tokens", "prompts", "samples", "points", "on_the_way", "final"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; expected at least 1")


@dataclass(frozen=True)
class Point:
    """What had been used when the policy was measured, and the figures."""

    used: Mapping[str, float]
    figures: Mapping[str, float]


@dataclass(frozen=True)
class Trained:
    """What an arm came to. curve: from before the first update to the end. log: the numbers of every update."""

    model: Model
    start: Model
    curve: tuple[Point, ...]
    log: tuple[Mapping[str, float], ...]
    starved: bool = False
    """Whether it ended because no group had anything left to learn from."""

    @property
    def figures(self) -> dict[str, float]:
        """Those of the end, and `area`: the mean of `truth` over the budget, by trapezoids."""
        return {**self.curve[-1].figures, "area": area(self.curve, "truth")}

    def measured(self) -> Measured:
        return Measured(self.figures, self.curve[-1].used)


def run_arm(method: Method, testbed: Testbed, seed: int, budget: Budget, **how: Any) -> Measured:
    """The figures and the budget used of a method that was trained on a testbed; `how` as in `train_arm`."""
    return train_arm(method, testbed, seed, budget, **how).measured()


def train_arm(
    method: Method,
    testbed: Testbed,
    seed: int,
    budget: Budget,
    *,
    lr: float = 0.05,
    optim: Optim | None = None,
    start: Model | None = None,
    roles: Mapping[str, Model] = EMPTY,
    noise: Noise | None = None,
    max_lag: int = 0,
    until: Callable[[Point], bool] | None = None,
    ks: Sequence[int] = KS,
) -> Trained:
    """Train a method from the seed's initial weights on the seed's order of tasks, the same for every method.

    lr: of AdamW, for the policy (a value model has `Role.lr`, or the same); optim: all of the optimiser instead.
    start: other initial weights (not changed). roles: initial weights of roles by name, where they are not the
    policy's. noise: what is wrong with the sampler. until: ends training at the first point where it is true.
    """
    begin = testbed.policy(seed) if start is None else start
    model = copy.deepcopy(begin)
    chosen = optim or Optim(lr=lr)
    policy = LocalEngine(model, Autoregressive(), chosen, TOKENS)
    samplers = {"policy": StepSampler(model, noise)}
    engines = {"policy": policy, **_roles(method, model, chosen, roles, samplers)}
    rewards = (*testbed.scoring, *method.rewards)
    weights = {reward.name: reward.weight for reward in rewards}
    source = Rollouts(
        tasks=Shuffled(Listed(testbed.tasks), seed).draw,
        samplers=samplers,
        chat=testbed.chat,
        how=testbed.how,
        rewards=rewards,
        batch=budget.prompts,
        n=budget.samples,
        rollout=method.rollout,
        filters=weigh(method.filters, weights),
        min_group=method.estimator.min_group if method.estimator else 1,
        max_lag=max_lag,
        seed=seed,
    )
    keeper = _Keeper(testbed, model, policy, list(samplers.values()), budget, until, ks)
    learner = Learner(method, engines, weights, max_gap=0.0 if noise else MAX_GAP, seed=seed)
    starved = asyncio.run(keeper.drive(source, learner))
    return Trained(model, begin, tuple(keeper.curve), tuple(keeper.log), starved)


TOKENS = 1 << 20
"""Tokens that go through a model at once: all of a batch, since models are small."""

MAX_GAP = 1e-3
"""Nats by which sampler and engine may differ on average, where nothing is wrong with the sampler on purpose."""


def _roles(
    method: Method, begin: Model, optim: Optim, given: Mapping[str, Model], samplers: dict[str, StepSampler]
) -> dict[str, LocalEngine]:
    """An engine for each role that has weights of its own; those that can speak get a sampler."""
    engines: dict[str, LocalEngine] = {}
    for name, role in method.roles.items():
        if role.shares:
            continue
        chosen = None if role.frozen else optim if role.lr is None else replace(optim, lr=role.lr)
        if role.head == "value":
            engines[name] = LocalEngine(begin.values(), Values(), chosen, TOKENS)
            continue
        model = copy.deepcopy(given.get(name, begin)).requires_grad_(not role.frozen)
        engines[name] = LocalEngine(model, Autoregressive(), chosen, TOKENS)
        samplers[name] = StepSampler(model)
    samplers |= {name: samplers[role.shares] for name, role in method.roles.items() if role.shares}
    return engines


@dataclass
class _Keeper:
    """What the loop reports to: counts the budget, measures the policy when due, and says when to stop."""

    testbed: Testbed
    model: Model
    engine: LocalEngine
    samplers: Sequence[StepSampler]
    budget: Budget
    until: Callable[[Point], bool] | None
    ks: Sequence[int]
    step: int = 0
    steps: int = 1 << 40
    stopping: bool = False
    curve: list[Point] = field(default_factory=list)
    log: list[Mapping[str, float]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    _rollouts: float = 0.0

    async def drive(self, source: Rollouts, learner: Learner) -> bool:
        """Train until the budget is used; whether it ended for want of anything to learn from."""
        await self._measure(1 / self.budget.points)
        try:
            await train(source, learner, cast("Runner", self))
        except Starved:
            await self._measure(1.0)
            return True
        return False

    def report_faults(self, faults: Sequence[Fault]) -> None:
        if faults:
            raise RuntimeError(f"testbed {self.testbed.name}: {faults[0]}")

    def save_evidence(self, groups: list[Group]) -> str:
        return ""

    async def finish_step(self, groups: list[Group], stats: Stats) -> None:
        self.step += 1
        numbers = values(stats)
        self.log.append(numbers)
        self._rollouts += numbers.get("sampled/rollouts", 0)
        share = self._sampled / self.budget.sampled_tokens
        if share >= len(self.curve) / self.budget.points:
            await self._measure(share)
        if share >= 1 or (self.until is not None and self.until(self.curve[-1])):
            self.stopping = True

    async def _measure(self, share: float) -> None:
        if self.testbed.enumerable:
            figures = exact(oracle_of(self.testbed), self.model, self.ks)
        else:
            last = share >= 1
            samples = self.budget.final if last else self.budget.on_the_way
            figures = await sampled(self.testbed, self.model, samples, self.ks, greedy=True)
        self.curve.append(Point(self._spent(), figures))

    def _spent(self) -> dict[str, float]:
        return {
            "sampled_tokens": self._sampled,
            "rollouts": self._rollouts,
            "trained_tokens": self.engine.trained_tokens,
            "gradient_steps": self.engine.steps,
        }

    @property
    def _sampled(self) -> int:
        """Symbols that were drawn for learning, those of replies that a filter dropped included."""
        return sum(sampler.sampled_tokens for sampler in self.samplers)


def area(curve: Sequence[Point], metric: str) -> float:
    """Mean of a figure over the sampled tokens of a curve."""
    if len(curve) < 2:
        return curve[0].figures[metric]
    places = [point.used["sampled_tokens"] for point in curve]
    heights = [point.figures[metric] for point in curve]
    parts = [(b - a) * (x + y) / 2 for a, b, x, y in zip(places, places[1:], heights, heights[1:], strict=False)]
    return sum(parts) / (places[-1] - places[0])
