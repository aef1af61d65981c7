"""Real processes, really killed: what is left is whole, and the resumed run ends like one that was left alone."""

import json
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from guerdon import checkpoint
from guerdon.metrics import read_events
from tests.models import small
from tests.runs import history

FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(["tests.kills"])


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return small.saved(tmp_path_factory.mktemp("model"))


def start(*args, **kwargs):
    from tests.kills import work

    process = FORKED.Process(target=work, args=args, kwargs=kwargs)
    process.start()
    return process


def ended(*args, **kwargs):
    """Exit status of a run that is left to end, or to kill itself."""
    process = start(*args, **kwargs)
    process.join(60)
    return process.exitcode


@pytest.fixture(scope="module")
def straight(model, tmp_path_factory):
    out = tmp_path_factory.mktemp("straight") / "run"
    assert ended(model, out) == 0
    return out


def fingerprint(out):
    return [e["summary"]["weights_sha256"] for e in read_events(out / "metrics.jsonl") if e["event"] == "end"][-1]


def saved(out):
    return [checkpoint.step_of(path) for path in checkpoint.complete(out / "checkpoints")]


def goes_on(model, out, straight, **options):
    """Resume to the end, and compare with the run that was left alone."""
    assert ended(model, out, resume=True, **options) == 0
    assert fingerprint(out) == fingerprint(straight)
    assert history(out) == history(straight)
    assert not list(out.rglob("*.part"))


def calls_of_one_save(out):
    """fsync: the root's parent, each file and folder, the folder itself, the root."""
    return len(list((out / "checkpoints" / "step-00000004").rglob("*"))) + 3


def test_a_process_killed_while_it_saves_has_lost_no_earlier_save(model, straight, tmp_path):
    one = calls_of_one_save(straight)
    for point, left in {("fsync", one - 2): [], ("fsync", one + 4): [2]}.items():
        out = tmp_path / f"{point}"
        assert ended(model, out, point) == -signal.SIGKILL
        assert saved(out) == left
        assert (out / "checkpoints").exists()
        goes_on(model, out, straight)


@pytest.mark.slow
def test_a_process_killed_before_any_sync_move_or_removal(model, straight, tmp_path):
    one = calls_of_one_save(straight)
    points = [("fsync", n) for n in range(1, 3 * one, 6)] + [("replace", n) for n in range(3, 14, 2)]
    points += [("rmtree", n) for n in range(1, 5)]
    killed = 0
    for point in points:
        out = tmp_path / f"{point}"
        if ended(model, out, point, options={"keep": 1}) == 0:
            continue  # the run was over before
        killed += 1
        assert saved(out) in ([], [2], [2, 4], [4]), point
        if (out / "run.json").exists():
            goes_on(model, out, straight, options={"keep": 1})
    assert killed > 10


@pytest.mark.slow
@pytest.mark.parametrize("lag", [0, 1])
def test_a_process_killed_at_any_moment_again_and_again(model, tmp_path, lag):
    options = {"max_lag": lag, "steps": 12, "save_every": 2}
    straight = tmp_path / "straight"
    assert ended(model, tmp_path / "first", options=options) == 0  # it also pays for loading the libraries
    begin = time.monotonic()
    assert ended(model, straight, options=options) == 0
    whole, moments = time.monotonic() - begin, random.Random(lag)
    killed = 0
    for number in range(2):
        out = tmp_path / f"run-{number}"
        for _ in range(2):
            process = start(model, out, resume=(out / "run.json").exists(), options=options)
            process.join(moments.uniform(0.2, 0.9) * whole)
            killed += process.is_alive()
            process.kill()
            process.join()
        if fingerprint_or_none(out) is None:
            goes_on(model, out, straight, options=options)
        assert fingerprint(out) == fingerprint(straight)
    assert killed


def fingerprint_or_none(out):
    ends = [e for e in read_events(out / "metrics.jsonl") if e["event"] == "end" and e["state"] == "finished"]
    return ends[-1]["summary"]["weights_sha256"] if ends else None


# --- the command line ------------------------------------------------------------------------------------------------


def command(*words):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    program = [str(Path(sys.executable).with_name("guerdon")), "train", *map(str, words)]
    return subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


@pytest.fixture(scope="module")
def reward(tmp_path_factory):
    """A user's reward, slow enough that a step can be hit."""
    file = tmp_path_factory.mktemp("reward") / "reward.py"
    file.write_text(
        "import time\n"
        "def digits(completions, **columns):\n"
        "    time.sleep(0.05)\n"
        "    return [sum(c.isdigit() for c in completion) / 4 for completion in completions]\n"
    )
    return f"{file}:digits"


@pytest.fixture(scope="module")
def words(model, reward):
    given = {"model": model, "reward": reward, "steps": 8, "save-every": 3, "eval-tasks": 4, "eval-every": 0}
    given |= {"prompts-per-step": 2, "samples-per-prompt": 4, "max-new-tokens": 4, "lr": 0.01}
    return ["grpo", "--json", "--quiet", *(word for key, value in given.items() for word in (f"--{key}", str(value)))]


@pytest.fixture(scope="module")
def told(words, tmp_path_factory):
    """What `--json` says of the run that was left alone."""
    out = tmp_path_factory.mktemp("told") / "run"
    process = command(*words, "--out", out)
    return json.loads(process.communicate(timeout=120)[0].splitlines()[-1])


def wait_for(out, step, kind="step"):
    deadline = time.monotonic() + 60
    while not any(e["event"] == kind and e["step"] >= step for e in read_events(out / "metrics.jsonl")):
        assert time.monotonic() < deadline, "the run does not get on"
        time.sleep(0.005)


def resumed(out):
    process = command("--json", "--quiet", "--resume", out)
    text, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return json.loads(text.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_command_stopped_by_a_signal_says_how_to_go_on_and_goes_on(words, told, tmp_path, number):
    out = tmp_path / "run"
    process = command(*words, "--out", out)
    wait_for(out, 4)
    process.send_signal(number)
    text, errors = process.communicate(timeout=60)
    if number == signal.SIGKILL:
        assert process.returncode == -number
        assert saved(out) == [3]
    else:
        assert process.returncode == 130
        (last,) = saved(out)[-1:]
        assert 4 <= last < 8
        assert re.search(rf"interrupted after step {last} of 8, and saved.*guerdon train --resume {out}", errors)
        assert json.loads(text.splitlines()[-1])["kind"] == "Interrupted"
    assert resumed(out)["weights_sha256"] == told["weights_sha256"]


@pytest.mark.slow
def test_the_second_interrupt_of_the_command_stops_it_at_once(words, told, reward, tmp_path):
    file = Path(reward.rpartition(":")[0])
    lazy = tmp_path / "lazy.py"
    stuck = tmp_path / "stuck"
    lazy.write_text(
        file.read_text().replace(
            "    time.sleep(0.05)\n",
            f"    import os\n    while os.path.exists({str(stuck)!r}): time.sleep(0.01)\n",
        )
    )
    out = tmp_path / "run"
    process = command(*(word if word != reward else f"{lazy}:digits" for word in words), "--out", out)
    wait_for(out, 3, "save")
    stuck.touch()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    wait_for(out, 0, "stopping")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)  # the step in hand does not end
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    errors = process.communicate(timeout=30)[1]
    assert time.monotonic() - begin < 10
    assert process.returncode == 130
    assert re.search(rf"stopped at once; go on from the last checkpoint with: guerdon train --resume {out}", errors)
    assert saved(out)[-1] >= 3
    stuck.unlink()
    assert resumed(out)["weights_sha256"] == told["weights_sha256"]


@pytest.mark.slow
def test_two_commands_on_one_folder(words, tmp_path):
    out = tmp_path / "run"
    first = command(*words, "--out", out)
    wait_for(out, 1)
    second = command("--json", "--quiet", "--resume", out)
    first.send_signal(signal.SIGSTOP)  # so that it is still at work when the other one has loaded
    errors = second.communicate(timeout=60)[1]
    first.send_signal(signal.SIGCONT)
    assert second.returncode == 1
    assert re.search(rf"{out} is in use by process {first.pid}\b", errors)
    text, errors = first.communicate(timeout=60)
    assert first.returncode == 0, errors
    assert json.loads(text.splitlines()[-1])["steps"] == 8
