import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from guerdon.judges.rate import Rate, backoff, retry_after
from tests.judges.servers import FakeTime


def starts(rate, time, n):
    async def go():
        found = []
        for _ in range(n):
            await rate.wait()
            found.append(time.time - 1000)
        return found

    return asyncio.run(go())


def test_no_more_starts_in_any_minute_than_allowed():
    time = FakeTime()
    assert starts(Rate(3, time.clock()), time, 7) == [0, 0, 0, 60, 60, 60, 120]


def test_starts_spread_over_time_need_no_wait():
    time = FakeTime()
    rate = Rate(2, time.clock())
    assert starts(rate, time, 1) == [0]
    time.time += 45
    assert starts(rate, time, 1) == [45]
    assert starts(rate, time, 2) == [60, 105]


def test_many_waiting_at_once_get_places_in_order():
    time, order = FakeTime(), []
    rate = Rate(2, time.clock())

    async def one(number):
        start = rate._start()  # places are given in the order asked for, before anyone sleeps
        order.append((number, start - 1000))

    async def go():
        await asyncio.gather(*(one(i) for i in range(5)))

    asyncio.run(go())
    assert order == [(0, 0), (1, 0), (2, 60), (3, 60), (4, 120)]


def test_a_pause_holds_everybody():
    time = FakeTime()
    rate = Rate(None, time.clock())
    rate.hold(7)
    rate.hold(3)  # a shorter one does not end a longer one
    assert starts(rate, time, 2) == [7, 7]


def test_no_limit_no_wait():
    time = FakeTime()
    assert starts(Rate(None, time.clock()), time, 100) == [0] * 100
    assert time.slept == []


def test_zero_per_minute_is_refused():
    with pytest.raises(ValueError, match="0 times per minute"):
        Rate(0, FakeTime().clock())


def test_waits_double_up_to_a_limit_and_jitter_takes_up_to_half():
    assert [backoff(i, 60, 0.0) for i in range(9)] == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
    assert backoff(3, 60, 0.5) == 3.0
    assert backoff(3, 60, 1.0) == 2.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({}, None),
    ],
)
def test_what_a_server_asks_to_wait(headers, seconds):
    assert retry_after(headers) == seconds


def test_a_date_to_wait_for():
    until = datetime.now(UTC) + timedelta(seconds=100)
    assert 95 <= retry_after({"retry-after": format_datetime(until, usegmt=True)}) <= 100
