import asyncio
import json

import pytest

from guerdon.judges.outcome import CAUSES, JudgeStopped
from guerdon.judges.usage import BudgetSpent, Limits, Purse, Spend, Usage


def run(coroutine):
    return asyncio.run(coroutine)


def test_prices_are_per_million_tokens():
    limits = Limits(max_cost=1.0, price_in=2.5, price_out=10.0)
    assert limits.cost(Spend(400_000, 30_000)) == pytest.approx(1.3)
    assert Limits().cost(Spend(10**9, 10**9)) == 0


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"max_cost": 5.0}, "price_in and price_out"),
        ({"max_cost": 5.0, "price_in": 1.0}, "price_in and price_out"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"price_in": float("nan")}, "price_in"),
        ({"max_requests": float("inf")}, "max_requests"),
    ],
)
def test_limits_that_cannot_hold_are_refused(given, named):
    with pytest.raises(ValueError, match=named):
        Limits(**given)


def test_a_budget_ends_before_it_is_overdrawn():
    usage = Usage()
    purse = Purse(Limits(max_cost=0.01, price_in=10.0, price_out=30.0), usage)
    most = Spend(100, 100)  # at most 0.004

    async def go():
        for _ in range(2):
            await purse.reserve(most)
            purse.settle(most, Spend(90, 80))  # 0.0033 each; after two of them 0.0034 are left, after three 0.0001
        await asyncio.sleep(0)
        await purse.reserve(most)

    with pytest.raises(BudgetSpent, match=r"has cost 0\.0066 of the 0\.01 it may.*up to 0\.004; raise max_cost"):
        run(go())
    assert usage.cost == pytest.approx(0.0066)
    assert issubclass(BudgetSpent, JudgeStopped)


def test_what_is_under_way_is_set_aside_and_waited_for():
    usage, order = Usage(), []
    purse = Purse(Limits(max_tokens=250), usage)

    async def ask(name, real):
        await purse.reserve(Spend(100, 50))
        order.append(f"{name} sent")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        purse.settle(Spend(100, 50), Spend(*real))
        order.append(f"{name} back")

    async def go():
        await asyncio.gather(ask("a", (40, 10)), ask("b", (40, 10)))

    run(go())
    assert order == ["a sent", "a back", "b sent", "b back"]  # both at once could have taken 300
    assert usage.prompt_tokens + usage.completion_tokens == 100


def test_a_waiter_gives_up_when_nothing_comes_back():
    purse = Purse(Limits(max_tokens=200), Usage())

    async def first():
        await purse.reserve(Spend(100, 50))
        await asyncio.sleep(0)
        purse.settle(Spend(100, 50), None)  # nobody knows what it cost, so it stays set aside

    async def go():
        return await asyncio.gather(first(), purse.reserve(Spend(100, 50)), return_exceptions=True)

    assert isinstance(run(go())[1], BudgetSpent)


def test_requests_are_counted_and_limited():
    usage = Usage()
    purse = Purse(Limits(max_requests=2), usage)

    async def go():
        for _ in range(3):
            await purse.reserve(Spend(1, 1))
            purse.settle(Spend(1, 1), Spend())

    with pytest.raises(BudgetSpent, match="all of its 2 requests"):
        run(go())
    assert usage.requests == 2


def test_usage_that_was_kept_is_counted_on_and_the_limits_with_it():
    usage = Usage()
    purse = Purse(Limits(max_requests=3), usage)
    before = Usage(requests=2, cost=1.5, failures={"network": 1})
    usage.restore(json.loads(json.dumps(before.as_dict())))

    async def go():
        for _ in range(2):
            await purse.reserve(Spend(1, 1))
            purse.settle(Spend(1, 1), Spend(1, 1))

    with pytest.raises(BudgetSpent):
        run(go())
    assert (usage.requests, usage.cost, usage.failures) == (3, 1.5, {"network": 1})


def test_usage_between_two_moments_and_as_numbers_for_a_log():
    usage = Usage(calls=3, cost=0.5)
    usage.failures["empty"] += 1
    before = usage.copy()
    usage.calls += 2
    usage.cost += 0.25
    usage.failures["network"] += 2
    spent = usage.since(before)
    assert (spent.calls, spent.cost, dict(spent.failures)) == (2, 0.25, {"network": 2})
    numbers = {name: total.value for name, total in spent.stats("judge").items()}
    assert numbers["judge/calls"] == 2
    assert numbers["judge/failures/network"] == 2
    assert {f"judge/failures/{cause}" for cause in CAUSES} <= numbers.keys()
