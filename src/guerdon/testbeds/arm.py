"""One arm of an experiment: a method on a testbed with a budget, through the real source, learner and loop."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from guerdon.claims.base import Measured
from guerdon.engines.local import LocalEngine, Optim
from guerdon.filters import weigh
from guerdon.learner import Learner
from guerdon.likelihoods.autoregressive import Autoregressive, Values
from guerdon.method import Method
from guerdon.metrics import Stats, values
from guerdon.rewards.base import Reward
from guerdon.samplers.base import Sampling
from guerdon.sources import Rollouts, Starved
from guerdon.tasks.base import Listed, Shuffled
from guerdon.testbeds.base import Testbed
from guerdon.testbeds.drive import Drive
from guerdon.testbeds.exact import oracle_of
from guerdon.testbeds.figures import KS, exact, sampled
from guerdon.testbeds.model import Model
from guerdon.testbeds.sampler import Noise, StepSampler
from guerdon.types import EMPTY, Group, Task


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
    """Whether it ended because filters left nothing to learn from."""

    @property
    def figures(self) -> dict[str, float]:
        """Those of the end, and `area`: the mean of `truth` over the budget, by trapezoids."""
        return {**self.curve[-1].figures, "area": area(self.curve, "truth")}

    def measured(self) -> Measured:
        return Measured(self.figures, self.curve[-1].used)


def run_arm(method: Method, testbed: Testbed, seed: int, budget: Budget, **settings: Any) -> Measured:
    """The figures and the budget used of a method that was trained on a testbed; `settings` as in `train_arm`."""
    return train_arm(method, testbed, seed, budget, **settings).measured()


def train_arm(
    method: Method,
    testbed: Testbed,
    seed: int,
    budget: Budget,
    *,
    until: Callable[[Point], bool] | None = None,
    ks: Sequence[int] = KS,
    **settings: Any,
) -> Trained:
    """Train a method from the seed's initial weights on the seed's order of tasks, the same for every method.

    until: ends training at the first point where it is true. ks: the k of pass@k and of its like. settings: as in
    `assemble`.
    """
    parts = assemble(method, testbed, seed, budget, **settings)
    keeper = _Keeper(FOREVER, parts=parts, testbed=testbed, budget=budget, until=until, ks=ks)
    starved = asyncio.run(keeper.run())
    return Trained(parts.engine.module, parts.start, tuple(keeper.curve), tuple(keeper.log), starved)


@dataclass(frozen=True)
class Parts:
    """What an arm is made of. start: the initial policy, left as it is."""

    source: Rollouts
    learner: Learner
    engine: LocalEngine
    samplers: tuple[StepSampler, ...]
    start: Model

    @property
    def sampled(self) -> int:
        """Symbols that were drawn for learning, those of replies that a filter dropped included."""
        return sum(sampler.sampled_tokens for sampler in self.samplers)


def assemble(
    method: Method,
    testbed: Testbed,
    seed: int,
    budget: Budget,
    *,
    lr: float = 0.05,
    optim: Optim | None = None,
    rewards: Sequence[Reward] | None = None,
    how: Sampling | None = None,
    start: Model | None = None,
    roles: Mapping[str, Model] = EMPTY,
    noise: Noise | None = None,
    max_lag: int = 0,
) -> Parts:
    """Put together the source, the learner and all that a method asks for.

    lr: of AdamW, for the policy (a value model has `Role.lr`, or the same); optim: all of the optimiser instead.
    rewards, how: what is learned from, and how it is sampled, instead of the testbed's. start: other initial weights
    (not changed). roles: initial weights of roles by name, where they are not the policy's. noise: what is wrong with
    the sampler. max_lag: as in `Rollouts`.
    """
    begin = testbed.policy(seed) if start is None else start
    model = copy.deepcopy(begin)
    chosen = optim or Optim(lr=lr)
    policy = LocalEngine(model, Autoregressive(), chosen, TOKENS)
    samplers = {"policy": StepSampler(model, noise)}
    engines = {"policy": policy, **_roles(method, model, chosen, roles, samplers)}
    speakers = tuple({id(one): one for one in samplers.values()}.values())
    scoring = (*(testbed.scoring if rewards is None else rewards), *method.rewards)
    weights = {reward.name: reward.weight for reward in scoring}
    draw = Shuffled(Listed(testbed.tasks), seed).draw

    def task(i: int) -> Task:
        if sum(sampler.sampled_tokens for sampler in speakers) >= budget.sampled_tokens:
            raise Spent
        return draw(i)

    source = Rollouts(
        tasks=task,
        samplers=samplers,
        chat=testbed.chat,
        how=how or testbed.how,
        rewards=scoring,
        batch=budget.prompts,
        n=budget.samples,
        rollout=method.rollout,
        filters=weigh(method.filters, weights),
        min_group=method.estimator.min_group if method.estimator else 1,
        max_lag=max_lag,
        seed=seed,
    )
    learner = Learner(method, engines, weights, max_gap=0.0 if noise else MAX_GAP, seed=seed)
    return Parts(source, learner, policy, speakers, begin)


class Spent(Exception):
    """The budget was used up before a batch was full, because of groups that filters dropped."""


TOKENS = 1 << 20
"""Tokens that go through a model at once: all of a batch, since models are small."""

FOREVER = 1 << 40
"""Updates that no budget allows."""

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
class _Keeper(Drive):
    """Measures the policy when due, and says when the budget is used."""

    parts: Parts = field(kw_only=True)
    testbed: Testbed = field(kw_only=True)
    budget: Budget = field(kw_only=True)
    until: Callable[[Point], bool] | None = field(kw_only=True)
    ks: Sequence[int] = field(kw_only=True)
    curve: list[Point] = field(default_factory=list)
    log: list[Mapping[str, float]] = field(default_factory=list)
    rollouts: int = 0

    async def run(self) -> bool:
        """Train until the budget is used; whether it ended for want of anything to learn from."""
        await self._measure(self.budget.on_the_way)
        try:
            await self.train(self.parts.source, self.parts.learner)
        except (Starved, Spent):
            await self._measure(self.budget.final)
            return True
        return False

    async def finish_step(self, groups: list[Group], stats: Stats) -> None:
        await super().finish_step(groups, stats)
        self.log.append(values(stats))
        self.rollouts += int(self.log[-1].get("sampled/rollouts", 0))
        share = self.parts.sampled / self.budget.sampled_tokens
        if share >= len(self.curve) / self.budget.points:
            point = await self._measure(self.budget.final if share >= 1 else self.budget.on_the_way)
            self.stopping = share >= 1 or (self.until is not None and self.until(point))

    async def _measure(self, samples: int) -> Point:
        if self.testbed.enumerable:
            figures = exact(oracle_of(self.testbed), self.parts.engine.module, self.ks)
        else:
            figures = await sampled(self.testbed, self.parts.engine.module, samples, self.ks)
        self.curve.append(Point(self._used(), figures))
        return self.curve[-1]

    def _used(self) -> dict[str, float]:
        return {
            "sampled_tokens": self.parts.sampled,
            "rollouts": self.rollouts,
            "trained_tokens": self.parts.engine.trained_tokens,
            "gradient_steps": self.parts.engine.steps,
        }


def area(curve: Sequence[Point], metric: str) -> float:
    """Mean of a figure over the sampled tokens of a curve."""
    if len(curve) < 2:
        return curve[0].figures[metric]
    places = [point.used["sampled_tokens"] for point in curve]
    heights = [point.figures[metric] for point in curve]
    parts = [(b - a) * (x + y) / 2 for a, b, x, y in zip(places, places[1:], heights, heights[1:], strict=False)]
    return sum(parts) / (places[-1] - places[0])
