"""What judging has cost, and what it may cost: counters, limits, and a purse that is never overdrawn."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from guerdon.judges.outcome import CAUSES, JudgeStopped

if TYPE_CHECKING:
    from guerdon.metrics import Stats

MILLION = 1_000_000


class BudgetSpent(JudgeStopped):
    """What a judge may cost is used up, or the next request could go beyond it."""


@dataclass(frozen=True)
class Spend:
    """Tokens read and written."""

    prompt: int = 0
    completion: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion


@dataclass
class Usage:
    """Counters of one judge. Numbers by name for a log: `stats`; between two moments: `since`.

    calls: questions asked by rewards. requests: sent to a model, repetitions included. retries: of those, the ones
    repeated after a failure on the way. repairs: asked again because an answer was not of the asked form. cache_hits:
    requests answered from what was said before. cost: in the currency of the prices. failures: calls without a value,
    by cause.
    """

    calls: int = 0
    requests: int = 0
    retries: int = 0
    repairs: int = 0
    cache_hits: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    failures: Counter[str] = field(default_factory=Counter)

    def since(self, earlier: Usage) -> Usage:
        """What was used after `earlier`, a copy of these counters (`copy`)."""
        plain = {f.name: getattr(self, f.name) - getattr(earlier, f.name) for f in fields(self)}
        return Usage(**plain)

    def copy(self) -> Usage:
        found = Usage()
        found.restore(self.as_dict())
        return found

    def as_dict(self) -> dict[str, Any]:
        """Plain data to keep with a run; see `restore`."""
        return {**{f.name: getattr(self, f.name) for f in fields(self)}, "failures": dict(self.failures)}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Count on from what was kept, so that limits hold over a run that is interrupted and resumed."""
        for f in fields(self):
            setattr(self, f.name, saved.get(f.name, f.default))
        self.failures = Counter(saved.get("failures", {}))

    def stats(self, name: str = "judge") -> Stats:
        """Totals such as `judge/calls` and `judge/failures/network`; every cause is there, so that none is missed."""
        from guerdon.metrics import Total

        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "failures"}
        causes = {f"failures/{cause}": self.failures[cause] for cause in CAUSES}
        return {f"{name}/{key}": Total(float(value)) for key, value in {**plain, **causes}.items()}


@dataclass(frozen=True)
class Limits:
    """What a judge may use before `BudgetSpent`; None: no limit. Prices are per million tokens, in any currency."""

    max_cost: float | None = None
    max_tokens: int | None = None
    max_requests: int | None = None
    price_in: float | None = None
    price_out: float | None = None

    def __post_init__(self) -> None:
        for name in (f.name for f in fields(self)):
            value = getattr(self, name)
            if value is not None and not 0 <= value < float("inf"):
                raise ValueError(f"{name} is {value}; expected 0 or more, or nothing for no limit")
        if self.max_cost is not None and (self.price_in is None or self.price_out is None):
            raise ValueError(
                "max_cost needs the model's prices: give price_in and price_out, per million tokens read and written"
            )

    def cost(self, spend: Spend) -> float:
        """0 where no price is known."""
        return (spend.prompt * (self.price_in or 0.0) + spend.completion * (self.price_out or 0.0)) / MILLION


NO_LIMITS = Limits()


@dataclass(eq=False)
class Purse:
    """Sets aside the most that a request can cost before it is sent, and puts back what it did not.

    So the limits hold whatever is under way at once. What nobody knows the cost of (a request that ran into its time
    limit, an answer without counts) stays set aside.
    """

    limits: Limits
    usage: Usage
    _aside: Spend = Spend()
    _under_way: int = 0
    _waiting: list[asyncio.Future[None]] = field(default_factory=list)

    async def reserve(self, most: Spend) -> None:
        """Set `most` aside; waits while requests under way may still give something back. BudgetSpent when none can."""
        while over := self._over(most):
            if not self._under_way:
                raise BudgetSpent(over)
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter
        self._aside = Spend(self._aside.prompt + most.prompt, self._aside.completion + most.completion)
        self._under_way += 1
        self.usage.requests += 1

    def settle(self, most: Spend, real: Spend | None) -> None:
        """The request for which `most` was set aside has ended. real: what it used; None: nobody knows."""
        self._under_way -= 1
        if real is not None:
            self._aside = Spend(self._aside.prompt - most.prompt, self._aside.completion - most.completion)
            self.usage.prompt_tokens += real.prompt
            self.usage.completion_tokens += real.completion
            self.usage.cost += self.limits.cost(real)
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    def _over(self, most: Spend) -> str:
        """What the next request would exceed; '' when it fits."""
        limits, used = self.limits, self.usage
        tokens = used.prompt_tokens + used.completion_tokens + self._aside.tokens
        cost = used.cost + limits.cost(self._aside)
        if limits.max_requests is not None and used.requests + 1 > limits.max_requests:
            return f"the judge has made all of its {limits.max_requests} requests; raise max_requests to go on"
        if limits.max_tokens is not None and tokens + most.tokens > limits.max_tokens:
            return (
                f"the judge has used {tokens} of its {limits.max_tokens} tokens, and the next request may take up to "
                f"{most.tokens}; raise max_tokens to go on"
            )
        if limits.max_cost is not None and cost + limits.cost(most) > limits.max_cost + 1e-12:
            return (
                f"the judge has cost {cost:.4g} of the {limits.max_cost:g} it may, and the next request may cost up to "
                f"{limits.cost(most):.2g}; raise max_cost to go on"
            )
        return ""
