"""The sandbox holds: what a program can reach, what it may use, and what is left of it."""

import asyncio
import ctypes
import os
import socket
import threading
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from guerdon.sandbox import Limits, Sandbox, SandboxError, Work, available

pytestmark = pytest.mark.skipif(bool(available()), reason=available() or "there is a sandbox")

LIMITS = Limits(wall=20.0, cpu=10.0)


def run(source, stdin=b"", **limits):
    return Sandbox(workers=2).run({"main.py": source}, ["python", "-S", "main.py"], stdin, replace(LIMITS, **limits))


def test_a_program_gets_its_files_and_input_and_gives_its_output_and_code():
    files = {
        "main.py": "import sys, data.words\nprint(input() + data.words.WORD)\nsys.exit(3)",
        "data/words.py": b"WORD = 'y'",
    }
    result = Sandbox().run(files, ["python", "main.py"], b"x\n", LIMITS)
    assert (result.status, result.returncode, result.stdout, result.stderr) == ("exited", 3, b"xy\n", b"")
    assert not result.ok
    assert not result.truncated
    assert 0 < result.seconds < 20


def test_nothing_of_the_host_is_there(tmp_path, monkeypatch):
    canary = tmp_path / "canary"
    canary.write_text("secret")
    monkeypatch.setenv("CANARY", "secret")
    source = f"""
import os
from pathlib import Path
print(os.environ.get("CANARY"), os.path.exists({str(canary)!r}), os.path.exists({str(Path(__file__))!r}))
print(os.path.exists({str(Path.home())!r} + "/.bashrc"), {{"home", "mnt", "srv", "sys"}} & {{*os.listdir("/")}})
print(b"secret" in b"".join(Path(f"/proc/{{p}}").read_bytes() for p in ("1/environ", "1/cmdline", "self/environ")))
pids = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
print(pids[0], len(pids) < 5)
"""
    assert run(source).stdout.decode().split("\n")[:4] == ["None False False", "False set()", "False", "1 True"]


def test_the_environment_of_the_first_process_is_empty():
    assert run("print(open('/proc/1/environ').read() == '')").stdout == b"True\n"


@pytest.mark.parametrize("place", ["", "dev/", "etc/", "usr/", "proc/sys/kernel/", "bin/", "root/"])
def test_nothing_can_be_written_outside_the_folder(place):
    result = run(f"open('/{place}canary', 'w')")
    assert result.returncode == 1
    assert b"Error" in result.stderr


def test_no_kernel_setting_can_be_written():
    """Root of the host stands behind the program where the library runs as root, and /proc/sys asks who that is."""
    source = """
import os
for root, folders, files in os.walk("/proc"):
    folders[:] = [f for f in folders if not (root == "/proc" and f.isdigit())]
    for file in files:
        try:
            os.close(os.open(os.path.join(root, file), os.O_WRONLY | os.O_NONBLOCK))
            print(root, file)
        except OSError:
            pass
"""
    result = run(source)
    assert (result.returncode, result.stdout) == (0, b"")


def test_the_temporary_folders_are_one_private_folder_of_limited_size():
    source = """
for path in ("/tmp/a", "/dev/shm/b", "c"):
    open(path, "w").write("x")
import os
print(sorted(os.listdir()), os.listdir("tmp"), os.listdir(".shm"))
with open("/dev/shm/big", "wb") as file:
    while True:
        file.write(bytes(2**16))
"""
    result = run(source, disk=2**20)
    assert result.stdout.decode().split() == ["['.shm',", "'c',", "'main.py',", "'tmp']", "['a']", "['b']"]
    assert b"No space left" in result.stderr or result.limit == "disk"


def test_there_is_no_network():
    with socket.create_server(("127.0.0.1", 0)) as server:
        result = run(f"import socket\nsocket.create_connection(('127.0.0.1', {server.getsockname()[1]}), timeout=5)")
        assert b"ConnectionRefusedError" in result.stderr
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.parametrize(
    "call", ["libc.ptrace(16, 1, 0, 0)", "libc.unshare(0x10000000)", "libc.setsid()", "libc.memfd_create(b'x', 0)"]
)
def test_denied_system_calls_are_denied(call):
    assert (
        run(f"import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nprint({call}, ctypes.get_errno())").stdout
        == b"-1 1\n"
    )


def test_a_background_child_that_holds_the_output_does_not_hold_the_result():
    """C25: a result within a second of the program's own end, and the child is gone."""
    source = "import os, time\nif os.fork() == 0:\n    time.sleep(3600)\nprint(42)"
    begin = time.monotonic()
    result = run(source)
    assert (result.status, result.returncode, result.stdout) == ("exited", 0, b"42\n")
    assert time.monotonic() - begin < 15


@pytest.mark.parametrize(
    ("source", "status", "limit", "limits"),
    [
        ("import os\nwhile True:\n    os.fork()", "resource_limit", "processes", {}),
        ("import os\nwhile True:\n    if os.fork() == 0:\n        os.setpgid(0, 0)", "resource_limit", "processes", {}),
        (
            "import threading, time\nthreading.stack_size(65536)\nfor _ in range(99):\n"
            "    threading.Thread(target=time.sleep, args=(99,)).start()",
            "resource_limit",
            "processes",
            {},
        ),
        (
            "import os, time\nfor _ in range(9):\n    if os.fork() == 0:\n        hog = bytearray(30_000_000)\n"
            "        time.sleep(99)\ntime.sleep(99)",
            "resource_limit",
            "memory",
            {"memory": 200 * 2**20},
        ),
        (
            "import mmap, os, time\nfor _ in range(2):\n    os.fork()\narea = mmap.mmap(-1, 90_000_000)\n"
            "for at in range(0, 90_000_000, 4096):\n    area[at] = 1\ntime.sleep(99)",
            "resource_limit",
            "memory",
            {"memory": 200 * 2**20},
        ),
        (
            "import time\nopen('big', 'wb').write(bytes(60_000_000))\nhog = bytearray(60_000_000)\ntime.sleep(99)",
            "resource_limit",
            "memory",
            {"memory": 100 * 2**20},
        ),
        ("import time\ntime.sleep(99)", "timed_out", "wall", {"wall": 0.5}),
        ("while True:\n    pass", "timed_out", "cpu", {"cpu": 0.3}),
        ("import os\nwhile True:\n    if os.fork() == 0:\n        sum(range(10**6))\n"
        "        os._exit(0)\n    os.wait()",
         "timed_out", "cpu", {"cpu": 0.5}),
    ],
)  # fmt: skip
def test_limits_end_the_whole_tree(source, status, limit, limits):
    result = run(source, **limits)
    assert (result.status, result.limit, result.returncode) == (status, limit, -9)


def test_a_single_hog_meets_its_own_limit_of_address_space():
    assert b"MemoryError" in run("hog = bytearray(10**9)").stderr


def test_output_is_cut_while_it_streams():
    result = run(
        "import sys\nfor _ in range(300):\n    sys.stdout.write('x' * 2**20)\nsys.stderr.write('end')", output=1000
    )
    assert (result.stdout, result.stderr, result.truncated, result.returncode) == (b"x" * 1000, b"end", True, 0)


def test_signals_are_told_from_exits():
    result = run("import os\nos.kill(os.getpid(), 11)")
    assert (result.status, result.returncode, result.limit) == ("signalled", -11, "")


def test_a_killed_group_is_only_the_programs_own():
    result = run("import os\nos.kill(os.getpid(), 0)\ntry:\n    os.kill(-1, 9)\nexcept OSError:\n    print('alone')")
    assert result.stdout == b"alone\n"


def test_standard_input_that_is_not_read_does_no_harm():
    assert run("print(1)", stdin=bytes(10**6)).stdout == b"1\n"
    assert run("import sys\nprint(len(sys.stdin.buffer.read()))", stdin=bytes(10**6)).stdout == b"1000000\n"


@pytest.mark.parametrize("path", ["../up", "/root/x", "", "a/../../b"])
def test_files_outside_the_folder_are_refused(path):
    with pytest.raises(ValueError, match="not below the program's folder"):
        Sandbox().run({path: ""}, ["python"])


def test_a_command_that_is_not_there_is_the_callers_mistake():
    with pytest.raises(SandboxError, match="no command 'nothing'"):
        Sandbox().run({}, ["nothing"])


def test_programs_can_talk_over_a_pipe():
    reader = Work({"main.py": "import os\nprint(os.read(200, 99), os.read(200, 99))"}, ["python", "main.py"])
    writer = Work({"main.py": "import os\nos.write(201, b'hello')"}, ["python", "main.py"])
    results = Sandbox(LIMITS).run_together([reader, writer], [(1, 201, 0, 200)])
    assert [result.stdout for result in results] == [b"b'hello' b''\n", b""]


def test_the_first_of_programs_run_together_ends_the_others():
    first = Work({"main.py": "print(1)"}, ["python", "main.py"])
    other = Work({"main.py": "import time\ntime.sleep(3600)"}, ["python", "main.py"])
    results = Sandbox(LIMITS).run_together([first, other])
    assert [(result.status, result.returncode) for result in results] == [("exited", 0), ("signalled", -9)]


def test_only_so_many_run_at_a_time_and_waiting_costs_no_time():
    """Six programs of half a second, one at a time, with a limit that each alone keeps and the row of them does not."""
    sandbox = Sandbox(replace(LIMITS, wall=2.5), workers=1)
    source = "import time\ntime.sleep(0.5)\nprint(time.monotonic())"

    async def all_of_them():
        return await asyncio.gather(*(sandbox.run_async({"m.py": source}, ["python", "-S", "m.py"]) for _ in range(6)))

    results = asyncio.run(all_of_them())
    assert [result.status for result in results] == ["exited"] * 6
    ends = sorted(float(result.stdout) for result in results)
    assert all(later - earlier > 0.5 for earlier, later in pairwise(ends))


def test_worker_threads_may_use_it():
    results = []
    threads = [threading.Thread(target=lambda: results.append(run("print(6 * 7)").stdout)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [b"42\n"] * 4


@pytest.fixture
def reaper():
    """Orphans become children of this process."""
    prctl = ctypes.CDLL(None).prctl
    prctl(36, 1, 0, 0, 0)
    yield lambda: [pid for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()]
    prctl(36, 0, 0, 0, 0)


def test_cancelling_ends_the_tree_and_is_passed_on(reaper):
    sandbox = Sandbox(replace(LIMITS, wall=60.0), workers=1)
    source = "import os, time\nos.fork()\nos.fork()\ntime.sleep(3600)"

    async def start_and_cancel():
        running = asyncio.create_task(sandbox.run_async({"m.py": source}, ["python", "-S", "m.py"]))
        waiting = asyncio.create_task(sandbox.run_async({"m.py": source}, ["python", "-S", "m.py"]))
        await asyncio.sleep(0.5)
        waiting.cancel()
        running.cancel()
        for task in (waiting, running):
            with pytest.raises(asyncio.CancelledError):
                await task

    before, files = reaper(), len(os.listdir("/proc/self/fd"))
    asyncio.run(start_and_cancel())
    assert reaper() == before
    assert len(os.listdir("/proc/self/fd")) == files
    assert sandbox.run({"m.py": "print(1)"}, ["python", "m.py"]).stdout == b"1\n"  # the slot is free again


def test_the_loop_goes_on_meanwhile():
    async def ticks():
        running = asyncio.create_task(Sandbox().run_async({"m.py": "import time\ntime.sleep(1)"}, ["python", "m.py"]))
        count = 0
        while not running.done():
            await asyncio.sleep(0.02)
            count += 1
        return count

    assert asyncio.run(ticks()) >= 5


def test_a_dead_library_takes_its_programs_along(reaper, tmp_path):
    """The supervisor notices that nobody waits any more."""
    import signal
    import subprocess
    import sys

    script = tmp_path / "script.py"
    script.write_text(
        "from guerdon.sandbox import Sandbox, Limits\nprint('start', flush=True)\n"
        "Sandbox(Limits(wall=600, cpu=600)).run({'m.py': 'import time\\ntime.sleep(600)'}, ['python', 'm.py'])\n"
    )
    before = reaper()
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        time.sleep(1.0)
        process.send_signal(signal.SIGKILL)
        process.wait()
    deadline = time.monotonic() + 30
    while reaper() != before and time.monotonic() < deadline:
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            break
        time.sleep(0.05)
    assert reaper() == before
