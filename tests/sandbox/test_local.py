"""Without isolation: the same limits, a temporary folder, and the tree still ended."""

import asyncio
import os
import tempfile
from dataclasses import replace

import pytest

from guerdon.sandbox import Limits, Sandbox

LIMITS = Limits(wall=20.0, cpu=10.0)


def folders():
    return [name for name in os.listdir(tempfile.gettempdir()) if name.startswith("guerdon-box-")]


def run(source, **limits):
    sandbox = Sandbox(replace(LIMITS, **limits), unsafe_local=True)
    return sandbox.run({"main.py": source, "data/x": "7"}, ["python", "-S", "main.py"], b"in\n")


def test_a_program_runs_in_a_folder_that_is_removed(monkeypatch):
    monkeypatch.setenv("CANARY", "secret")
    source = (
        "import os\nprint(input(), open('data/x').read(), os.environ.get('CANARY'), os.getcwd())\nos.chmod('data', 0)"
    )
    result = run(source)
    said, place = result.stdout.decode().rsplit(maxsplit=1)
    assert (said, result.ok) == ("in 7 None", True)
    assert not os.path.exists(place)


@pytest.mark.parametrize(
    ("source", "limit", "limits"),
    [
        ("import time\ntime.sleep(99)", "wall", {"wall": 0.5}),
        ("while True:\n    pass", "cpu", {"cpu": 0.3}),
        (
            "import os, time\nfor _ in range(99):\n    if os.fork() == 0:\n        time.sleep(99)\ntime.sleep(99)",
            "processes",
            {},
        ),
    ],
)
def test_limits_hold(source, limit, limits):
    assert run(source, **limits).limit == limit


def test_daemons_are_ended():
    result = run(
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        "        time.sleep(99)\n    os._exit(0)\nprint(1)"
    )
    assert (result.status, result.stdout) == ("exited", b"1\n")


def test_it_can_be_cancelled():
    async def cancelled():
        sandbox = Sandbox(LIMITS, unsafe_local=True)
        running = asyncio.create_task(sandbox.run_async({"m.py": "import time\ntime.sleep(99)"}, ["python", "m.py"]))
        await asyncio.sleep(0.3)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())
