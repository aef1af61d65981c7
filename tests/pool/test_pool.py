"""The pool of killable processes: whatever a call does costs its own worker only, and nobody's verdict is lost."""

import asyncio
import math
import os
import threading
import time

import pytest

from guerdon.pool.outcome import Limits
from guerdon.pool.pool import Pool

HERE = f"{__file__.rpartition('/')[0]}/calls.py"


def at(name):
    return f"{HERE}:{name}"


@pytest.fixture(scope="module")
def pool():
    pool = Pool(workers=2)
    yield pool
    pool.close()


def test_a_result_comes_back_with_its_id(pool):
    outcome = pool.call(at("echo"), 1, "zwei", three=[3.5, None], id="sample-7")
    assert (outcome.status, outcome.value, outcome.id) == ("done", [[1, "zwei"], {"three": [3.5, None]}], "sample-7")


def test_a_function_of_a_module_is_found_by_name(pool):
    assert pool.call("math:gcd", 12, 18).value == 6


def test_not_a_number_is_handed_over_as_it_is(pool):
    value = pool.call(at("nan")).value
    assert math.isnan(value[0])
    assert value[1] == math.inf


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("fail", "raised", "ValueError: no such thing (calls.py, line "),
        ("leave", "raised", "SystemExit: 0"),
        ("odd", "raised", "TypeError"),
        ("missing", "raised", "missing"),
        ("vanish", "died", "exit status 0"),
        ("crash", "died", "SIGSEGV"),
        ("fork_and_vanish", "died", "exit status 1"),
        ("hang", "timed_out", "within 0.5 s"),
        ("tower", "timed_out", "within 0.5 s"),
        ("hog", "over_limit", "bytes of memory"),
    ],
)
def test_misbehaviour_is_an_outcome_and_the_next_call_is_served(pool, name, status, reason):
    outcome = pool.call(at(name), limits=Limits(seconds=0.5 if status == "timed_out" else 20, memory=2**30))
    assert outcome.status == status, outcome
    assert reason in outcome.reason
    assert outcome.value is None
    assert pool.call(at("echo")).ok


def test_cpu_time_is_limited_apart_from_wall_time(pool):
    outcome = pool.call(at("spin"), limits=Limits(seconds=30, cpu_seconds=0.5))
    assert outcome.status == "timed_out"
    assert "CPU" in outcome.reason


def test_a_result_over_the_limit_is_refused_and_one_below_it_is_not(pool):
    assert pool.call(at("big"), 2**20, limits=Limits(result=2**16)).status == "over_limit"
    assert len(pool.call(at("big"), 2**20).value) == 2**20


def test_gigabytes_of_printing_are_cut_and_do_not_block(pool):
    outcome = pool.call(at("flood"), limits=Limits(output=1000))
    assert outcome.value == "done"
    assert outcome.output.startswith("x" * 1000 + "\n... ")


def test_a_function_may_close_its_output(pool):
    assert pool.call(at("close_output")).value == "still here"
    assert pool.call(at("echo"), 1).ok


def test_arguments_that_cannot_be_pickled_are_named_and_harmless(pool):
    outcome = pool.call(at("echo"), lambda: 1)
    assert outcome.status == "raised"
    assert "pickle" in outcome.reason.lower()
    assert pool.call(at("echo"), 1).ok


def test_large_arguments_and_results_cross_in_both_directions(pool):
    text = "é" * 2**20
    assert pool.call(at("echo"), text).value == [[text], {}]


def test_waiting_is_not_working():
    """C19: 500 answers at once, 50 ms each, 2 workers, limit 2 s per answer: all are served."""
    pool = Pool(workers=2)

    async def everybody():
        limits = Limits(seconds=2)
        calls = (pool.run(at("slow"), i, 0.05 if i % 10 == 0 else 0.0, limits=limits, id=str(i)) for i in range(500))
        return await asyncio.gather(*calls)

    outcomes = asyncio.run(everybody())
    pool.close()
    assert [(o.value, o.id) for o in outcomes] == [(i, str(i)) for i in range(500)]


def test_importing_is_not_working(pool, tmp_path):
    slow = tmp_path / "slow_to_import.py"
    slow.write_text("import time\ntime.sleep(0.8)\ndef f():\n    return 1\n")
    assert pool.call(f"{slow}:f", limits=Limits(seconds=0.4)).value == 1


def test_a_file_that_cannot_be_imported_is_named(pool, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("def f(:\n")
    outcome = pool.call(f"{broken}:f")
    assert outcome.status == "raised"
    assert "broken.py, line 1" in outcome.reason


def test_a_hanging_call_delays_no_other_worker():
    pool = Pool(workers=2)

    async def together():
        hanging = asyncio.create_task(pool.run(at("tower"), limits=Limits(seconds=20)))
        await asyncio.sleep(0.3)
        done = await asyncio.wait_for(asyncio.gather(*(pool.run(at("echo"), i) for i in range(50))), 10)
        assert not hanging.done()
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
        return done

    assert [o.value[0][0] for o in asyncio.run(together())] == list(range(50))
    pool.close()


def test_cancelling_kills_the_call_and_frees_its_worker():
    pool = Pool(workers=1)

    async def cancelled():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(pool.run(at("hang"), limits=Limits(seconds=3600)), 0.3)
        return await asyncio.wait_for(pool.run(at("echo"), 1), 10)

    assert asyncio.run(cancelled()).ok
    pool.close()


def test_it_serves_threads_and_several_event_loops_at_once(pool):
    found = {}

    def thread(name):
        found[name] = asyncio.run(pool.run(at("slow"), name)).value if name % 2 else pool.call(at("slow"), name).value

    threads = [threading.Thread(target=thread, args=(i,)) for i in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(timeout=30)
    assert found == {i: i for i in range(8)}


def test_more_calls_than_may_wait_are_all_served():
    pool = Pool(workers=1)

    async def many():
        return await asyncio.gather(*(pool.run(at("echo"), i) for i in range(300)))

    assert len({o.value[0][0] for o in asyncio.run(many())}) == 300
    pool.close()


def test_nothing_is_left_behind():
    pool = Pool(workers=2)
    before = len(os.listdir("/proc/self/fd"))
    workers = {pool.call(at("process")).value for _ in range(4)}
    for _ in range(5):
        pool.call(at("vanish"))
        pool.call(at("hang"), limits=Limits(seconds=0.1))
    workers.add(pool.call(at("orphan")).value)
    pool.close()
    deadline = time.monotonic() + 10
    while any(_exists(pid) for pid in workers) or len(os.listdir("/proc/self/fd")) > before:
        assert time.monotonic() < deadline, "processes or pipes are left"
        time.sleep(0.05)


def _exists(pid):
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_closed_pool_says_so():
    pool = Pool(workers=1)
    pool.close()
    with pytest.raises(RuntimeError, match="closed"):
        pool.call(at("echo"))


def test_limits_are_checked():
    with pytest.raises(ValueError, match="seconds is 0"):
        Limits(seconds=0)
