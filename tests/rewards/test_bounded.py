import asyncio
import time

import pytest

from guerdon.rewards.bounded import bounded


def test_results_and_errors_come_through():
    assert asyncio.run(bounded(lambda: 3, 5)) == 3

    def stop():
        raise StopIteration("done")

    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(bounded(stop, 5))


def test_a_late_result_is_dropped_without_a_word(recwarn):
    async def late():
        with pytest.raises(TimeoutError, match=r"no result after 0\.05 s"):
            await bounded(lambda: time.sleep(0.2), 0.05)

    asyncio.run(late())
    time.sleep(0.3)
    assert not recwarn.list


def test_many_at_once_each_have_their_own_time():
    async def many():
        return await asyncio.gather(*(bounded(lambda i=i: (time.sleep(0.05), i)[1], 2) for i in range(50)))

    assert asyncio.run(many()) == list(range(50))
