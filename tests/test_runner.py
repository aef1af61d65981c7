"""Runs that end, break, are stopped and go on: bit for bit as if nothing had been."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from guerdon import checkpoint, lock, parts, runner, summary
from guerdon.checkpoint import Damaged, Unwritable
from guerdon.engines.base import NotFinite
from guerdon.learner import GapTooLarge, Learner
from guerdon.methods.dapo import dapo
from guerdon.methods.grpo import grpo
from guerdon.methods.ppo import ppo
from guerdon.metrics import read_events
from guerdon.rewards.base import PerEpisode
from guerdon.rewards.fault import RewardFault
from guerdon.run import FolderTaken, RunFolder
from guerdon.runner import execute
from guerdon.samplers.local import LocalSampler
from guerdon.sources import Starved, TooManyFaults
from guerdon.store import read_episodes
from tests.models import small
from tests.runs import Crash, crash_at, digits, history, signal_at, tiny_run

METHODS = {"grpo": grpo, "ppo": lambda: ppo(epochs=2), "dapo": dapo}


def with_options(run, **changes):
    return replace(run, options=replace(run.options, **changes))


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return small.saved(tmp_path_factory.mktemp("model"))


@pytest.fixture
def run(model):
    return tiny_run(model, grpo())


@pytest.fixture(scope="module")
def straight(model, tmp_path_factory):
    """`run`, left alone; its folder."""
    folder = tmp_path_factory.mktemp("straight") / "run"
    execute(tiny_run(model, grpo()), folder)
    return folder


def events(folder, kind):
    return [event for event in read_events(folder / "metrics.jsonl") if event["event"] == kind]


def steps_of(folder):
    return [event["step"] for event in events(folder, "step")]


def saved(folder):
    return [checkpoint.step_of(path) for path in checkpoint.complete(folder / "checkpoints")]


def weights(outcome):
    return outcome.summary["weights_sha256"]


def same(folder, straight):
    """Whether a run ended like the one that was left alone."""
    sums = [events(each, "end")[-1]["summary"]["weights_sha256"] for each in (folder, straight)]
    return sums[0] == sums[1] and history(folder) == history(straight)


# --- bit for bit -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("name", METHODS)
def test_a_run_that_dies_or_is_stopped_and_goes_on_ends_like_one_that_was_left_alone(model, tmp_path, name, lag):
    run = tiny_run(model, METHODS[name](), max_lag=lag)
    straight = execute(run, tmp_path / "straight")
    assert straight.state == "finished"
    assert steps_of(tmp_path / "straight") == [1, 2, 3, 4]

    with pytest.raises(Crash):
        execute(run, tmp_path / "died", sinks=[crash_at(4)])
    resumed = execute(run, tmp_path / "died", resume=True)
    assert events(tmp_path / "died", "start")[-1]["step"] == 2
    assert weights(resumed) == weights(straight)
    assert history(tmp_path / "died") == history(tmp_path / "straight")

    stopped = execute(run, tmp_path / "stopped", sinks=[signal_at(3)])  # at a step that is not saved otherwise
    assert (stopped.state, stopped.step) == ("interrupted", 3)
    resumed = execute(run, tmp_path / "stopped", resume=True)
    assert events(tmp_path / "stopped", "start")[-1]["step"] == 3
    assert weights(resumed) == weights(straight)
    assert history(tmp_path / "stopped") == history(tmp_path / "straight")


def test_dapo_refilled_in_these_runs(model, tmp_path):
    execute(tiny_run(model, dapo(), max_lag=1, steps=2), tmp_path / "run")
    assert any(event["metrics"]["sampled/groups"] > 2 for event in events(tmp_path / "run", "step"))


def test_other_seeds_and_fewer_steps_give_other_weights(run, straight, tmp_path):
    other = [execute(with_options(run, **change), tmp_path / str(change)) for change in ({"seed": 1}, {"steps": 3})]
    sums = {weights(outcome) for outcome in other} | {events(straight, "end")[-1]["summary"]["weights_sha256"]}
    assert len(sums) == 3


def test_a_run_can_be_given_more_steps(run, tmp_path):
    run = with_options(run, schedule="constant")  # any other one depends on how many steps there are
    straight = execute(run, tmp_path / "straight")
    execute(with_options(run, steps=2), tmp_path / "run")
    longer = execute(run, tmp_path / "run", resume=True)
    assert weights(longer) == weights(straight)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["options"]["steps"] == 4


def test_death_at_any_event_costs_at_most_the_work_since_the_last_save(run, straight, tmp_path):
    for kind, step, back in [("eval", 0, 0), ("eval", 2, 0), ("save", 2, 2), ("eval", 4, 2), ("save", 4, 4)]:
        folder = tmp_path / f"{kind}-{step}"
        with pytest.raises(Crash):
            execute(run, folder, sinks=[crash_at(step, kind)])
        execute(run, folder, resume=True)
        assert events(folder, "start")[-1]["step"] == back
        assert same(folder, straight)


def test_what_is_left_at_the_end_is_whole_and_the_policy_is_the_trained_one(straight):
    from transformers import AutoModelForCausalLM

    folder = straight
    assert saved(folder) == [2, 4]
    trained = summary.weights_sha256(AutoModelForCausalLM.from_pretrained(folder / "model"))
    assert trained == events(folder, "end")[-1]["summary"]["weights_sha256"]
    assert not list(folder.rglob("*.part")) + list(folder.rglob("*.tmp"))
    stored = [read_episodes(RunFolder(folder).episodes(step)) for step in (1, 2, 3, 4)]
    assert all([len(group) for group in groups] == [4, 4] for groups in stored)
    assert [event["step"] for event in events(folder, "eval")] == [0, 2, 4]


# --- stopping --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_the_step_finish_and_saves(run, tmp_path, number):
    outcome = execute(run, tmp_path / "run", sinks=[signal_at(1, number)])
    assert (outcome.state, outcome.step) == ("interrupted", 1)
    assert saved(tmp_path / "run") == [1]
    assert [event["signal"] for event in events(tmp_path / "run", "stopping")] == [number.name]
    assert events(tmp_path / "run", "end")[-1]["state"] == "interrupted"
    assert signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL), "the handlers are still ours"


def test_the_second_signal_stops_at_once(run, tmp_path):
    def impatient(event):
        if event["event"] in ("step", "stopping") and event["step"] == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        execute(run, tmp_path / "run", sinks=[impatient])
    assert saved(tmp_path / "run") == [2]
    assert execute(run, tmp_path / "run", resume=True).state == "finished"


def test_a_signal_before_the_first_step_saves_the_start(run, straight, tmp_path):
    def sink(event):
        if event["event"] == "eval" and event["step"] == 0:
            os.kill(os.getpid(), signal.SIGINT)

    assert execute(run, tmp_path / "run", sinks=[sink]).step == 0
    execute(run, tmp_path / "run", resume=True)
    assert same(tmp_path / "run", straight)


# --- what must stop a run --------------------------------------------------------------------------------------------


def test_a_loss_that_is_not_finite_stops_with_the_step_and_the_batch(run, tmp_path, monkeypatch):
    prepare = Learner.prepare

    def poisoned(self, role, batch):
        batch = prepare(self, role, batch)
        return batch.put(advantage=batch.advantage * float("nan")) if self.version == 2 else batch

    monkeypatch.setattr(Learner, "prepare", poisoned)
    with pytest.raises(NotFinite, match=r"^step 3: .*advantage.*Likely causes.*failed-step-000003\.parquet"):
        execute(run, tmp_path / "run")
    groups = read_episodes(tmp_path / "run" / "episodes" / "failed-step-000003.parquet")
    assert [len(group) for group in groups] == [4, 4]
    assert saved(tmp_path / "run") == [2]
    end = events(tmp_path / "run", "end")[-1]
    assert (end["state"], end["step"]) == ("failed", 2)
    monkeypatch.undo()
    assert execute(run, tmp_path / "run", resume=True).state == "finished"


def test_weights_that_are_not_numbers_stop_the_run_by_name(run, tmp_path, monkeypatch):
    load = parts.load_policy

    def broken(*args, **kwargs):
        policy = load(*args, **kwargs)
        torch.nn.init.constant_(next(policy.module.parameters()), float("nan"))
        return policy

    monkeypatch.setattr(parts, "load_policy", broken)
    with pytest.raises(TooManyFaults, match="logits are NaN"):
        execute(with_options(run, eval_tasks=0), tmp_path / "run")


def test_a_sampler_whose_temperature_the_trainer_does_not_see_stops_the_run(run, tmp_path, monkeypatch):
    sample = LocalSampler.sample

    async def warmer(self, prompt, how, seeds):
        samples = await sample(self, prompt, how.but(temperature=1.5), seeds)
        for span in (span for one in samples for span in one.spans):
            span.extra = {**span.extra, "temperature": 1.0}
        return samples

    monkeypatch.setattr(LocalSampler, "sample", warmer)
    with pytest.raises(GapTooLarge, match=r"^step 1: .*nats on average.*temperature.*failed-step-000001\.parquet"):
        execute(run, tmp_path / "run")
    assert execute(with_options(run, max_gap=0.0), tmp_path / "unguarded").state == "finished"


def test_a_run_that_starves_keeps_what_it_has_learned(run, tmp_path):
    seen = []

    def first_four(group):
        seen.append(group)
        return group if len(seen) <= 4 else None

    starving = replace(run, method=replace(run.method, filters=(first_four,)))
    with pytest.raises(Starved, match=r"first_four: \d+.*What was learned in 2 steps is saved in .*step-00000002"):
        execute(with_options(starving, save_every=0), tmp_path / "run")
    assert saved(tmp_path / "run") == [2]
    resumed = execute(run, tmp_path / "run", resume=True)
    assert (resumed.state, resumed.step) == ("finished", 4)


def test_faults_are_in_the_log_with_their_task(run, tmp_path):
    def sometimes(episode):
        if episode.task.prompt.startswith("8"):
            raise KeyError("answer")
        return digits(episode)

    reward = PerEpisode("digits", sometimes)
    outcome = execute(replace(run, rewards=(reward,)), tmp_path / "run")
    assert outcome.state == "finished"
    found = events(tmp_path / "run", "fault")
    assert found
    assert {(fault["where"], fault["what"]) for fault in found} == {("reward 'digits'", "KeyError: 'answer'")}
    assert all(fault["task"].startswith("arithmetic/") for fault in found)
    told = {event["step"]: event["metrics"]["faults"] for event in events(tmp_path / "run", "step")}
    assert all(told[fault["step"]] == fault["of"] for fault in found)


# --- folders ---------------------------------------------------------------------------------------------------------


def test_a_finished_run_has_nothing_to_resume(run, tmp_path):
    execute(with_options(run, steps=1), tmp_path / "run")
    with pytest.raises(ValueError, match=r"already at step 1 of 1; nothing is left to do. Give more --steps"):
        execute(with_options(run, steps=1), tmp_path / "run", resume=True)


def test_a_folder_that_is_taken_missing_empty_or_foreign_is_refused_and_left_alone(run, tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "run.json").write_text("{}")
    with pytest.raises(FolderTaken, match=r"already holds a run; resume it with --resume"):
        execute(run, tmp_path / "taken")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.tex").write_text("precious")
    with pytest.raises(FolderTaken, match="is not empty and is no run folder"):
        execute(run, tmp_path / "foreign")
    (tmp_path / "empty").mkdir()
    for name in ("missing", "empty", "foreign"):
        with pytest.raises(FileNotFoundError, match=rf"{name} is no run folder: it has no run\.json"):
            execute(run, tmp_path / name, resume=True)
    assert [path.name for path in (tmp_path / "foreign").iterdir()] == ["thesis.tex"]
    assert not (tmp_path / "missing").exists()
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "run.json").write_text('{"recipe": "gr')
    with pytest.raises(ValueError, match=r"run\.json is damaged"):
        execute(run, tmp_path / "damaged", resume=True)


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_loaded(run, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "load_parts", lambda run: pytest.fail("it was loaded"))
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"cannot write the run folder .*choose another with --out"):
        execute(run, tmp_path / "file" / "run")


def test_a_run_that_cannot_be_loaded_leaves_its_folder_free(run, model, tmp_path):
    with pytest.raises(FileNotFoundError):
        execute(with_options(run, model=str(tmp_path / "nowhere")), tmp_path / "run")
    assert not (tmp_path / "run").exists()
    shutil.copytree(model, tmp_path / "endless")
    small.tokenizer(eos_token=None).save_pretrained(tmp_path / "endless")
    endless = with_options(run, model=str(tmp_path / "endless"), steps=1)
    with pytest.raises(ValueError, match=r"names no end token"):
        execute(endless, tmp_path / "run")
    assert execute(with_options(endless, end_token="<end>"), tmp_path / "run").state == "finished"


def test_a_run_folder_survives_lines_and_files_cut_off(run, straight, tmp_path):
    with pytest.raises(Crash):
        execute(run, tmp_path / "run", sinks=[crash_at(3)])
    with (tmp_path / "run" / "metrics.jsonl").open("ab") as file:
        file.write(b'{"event": "step", "step": 3, "metr\xff\x00')
    episodes = tmp_path / "run" / "episodes"
    (episodes / "step-000003.part").write_bytes(b"PAR1")
    (episodes / "step-000001.parquet").write_bytes(b"PAR1")
    (tmp_path / "run" / "checkpoints" / "step-00000004.part").mkdir()
    execute(run, tmp_path / "run", resume=True)
    assert same(tmp_path / "run", straight)
    for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines():
        json.loads(line)


# --- checkpoints that cannot be read or written ----------------------------------------------------------------------


def cut(path: Path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("file", ["state.pkl", "policy/engine.pt", "policy/model/model.safetensors"])
def test_a_damaged_checkpoint_is_named_put_aside_and_the_one_before_is_used(run, straight, tmp_path, file):
    run = with_options(run, save_every=1)
    with pytest.raises(Crash):
        execute(run, tmp_path / "run", sinks=[crash_at(4)])
    checkpoints = tmp_path / "run" / "checkpoints"
    assert saved(tmp_path / "run") == [2, 3]
    cut(checkpoints / "step-00000003" / file)
    execute(run, tmp_path / "run", resume=True)
    assert same(tmp_path / "run", straight)
    told = events(tmp_path / "run", "damaged")
    assert [(event["step"], event["path"]) for event in told] == [(2, str(checkpoints / "step-00000003.damaged"))]
    assert "step-00000003 cannot be read" in told[0]["why"]


def test_when_no_checkpoint_can_be_read_nothing_is_touched(run, tmp_path):
    with pytest.raises(Crash):
        execute(run, tmp_path / "run", sinks=[crash_at(3)])
    cut(tmp_path / "run" / "checkpoints" / "step-00000002" / "state.pkl")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(Damaged, match=r"step-00000002 cannot be read"):
        execute(run, tmp_path / "run", resume=True)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_checkpoint_of_another_model_is_refused(run, tmp_path):
    with pytest.raises(Crash):
        execute(run, tmp_path / "run", sinks=[crash_at(3)])
    other = small.saved(tmp_path / "other", num_hidden_layers=1)
    with pytest.raises(Damaged, match="another model"):
        execute(with_options(run, model=str(other)), tmp_path / "run", resume=True)


@pytest.fixture
def disk(tmp_path):
    """A file system of its own, of 2 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("only root may mount a file system")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


@pytest.mark.parametrize("room", [0, 20, 100])
def test_a_disk_that_fills_up_stops_the_run_and_loses_nothing(run, straight, disk, room):
    """room: kB that are left after the first save: for no line, for no episodes, for half a checkpoint."""

    def fill(event):
        if event["event"] == "save":
            left = os.statvfs(disk)
            (disk / "ballast").write_bytes(bytes(max(0, left.f_bavail * left.f_bsize - room * 1024)))

    with pytest.raises(Unwritable, match=r"could not write .*GB are free there.*step-00000002.*--resume"):
        execute(run, disk / "run", sinks=[fill])
    assert saved(disk / "run") == [2]
    (disk / "ballast").unlink()
    execute(run, disk / "run", resume=True)
    assert same(disk / "run", straight)


def test_a_policy_that_cannot_be_written_at_the_end_is_in_the_checkpoint_and_written_by_resuming(
    run, tmp_path, monkeypatch
):
    def full(module, tokenizer, folder):
        (folder / "config.json").write_text("{")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(runner, "save_policy", full)
        with pytest.raises(Unwritable, match=r"run/model: .*No space left.*step-00000004"):
            execute(run, tmp_path / "run")
    assert not (tmp_path / "run" / "model").exists()
    assert execute(run, tmp_path / "run", resume=True).state == "finished"
    assert (tmp_path / "run" / "model" / "model.safetensors").exists()
    assert steps_of(tmp_path / "run") == [1, 2, 3, 4]


# --- one process at a time -------------------------------------------------------------------------------------------


def test_a_folder_in_use_is_refused_with_the_process_and_left_alone(run, tmp_path):
    with pytest.raises(Crash):
        execute(run, tmp_path / "run", sinks=[crash_at(3)])
    before = (tmp_path / "run" / "metrics.jsonl").read_bytes()
    hold = (
        "import sys, pathlib; from guerdon import lock\n"
        "with lock.alone(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", hold, str(tmp_path / "run")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout.readline() == b"held\n"
            with pytest.raises(lock.FolderBusy, match=rf"in use by process {other.pid}\b"):
                execute(run, tmp_path / "run", resume=True)
            assert (tmp_path / "run" / "metrics.jsonl").read_bytes() == before
        finally:
            other.kill()
    assert execute(run, tmp_path / "run", resume=True).state == "finished"  # the dead one's lock went with it


def test_a_run_cannot_go_on_with_other_tasks_than_it_is_measured_by(run, tmp_path):
    execute(with_options(run, steps=1), tmp_path / "run")
    for change in ({"tasks": "reverse"}, {"reward": "exact"}):
        with pytest.raises(ValueError, match=r"cannot go on with .* --model .*/run/model"):
            execute(with_options(run, steps=2, **change), tmp_path / "run", resume=True)
    assert execute(with_options(run, steps=2), tmp_path / "run", resume=True).state == "finished"


# --- rewards that are watched -----------------------------------------------------------------------------------------


def test_a_broken_reward_stops_before_anything_is_loaded(run, tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "load_parts", lambda run: pytest.fail("the model was loaded"))

    def broken(episode):
        raise KeyError("gold")

    with pytest.raises(RewardFault, match=r"reward 'mine' on task 'arithmetic/.*KeyError: 'gold'"):
        execute(replace(run, rewards=(PerEpisode("mine", broken),)), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_constant_reward_raises_an_alarm_once_also_across_a_resume(run, tmp_path):
    constant = with_options(replace(run, rewards=(PerEpisode("same", lambda episode: 1.0),)), steps=21, save_every=10)
    execute(constant, tmp_path / "straight")
    execute(with_options(constant, steps=15), tmp_path / "cut")
    execute(constant, tmp_path / "cut", resume=True)
    told = [events(tmp_path / name, "alarm") for name in ("straight", "cut")]
    straight, cut = ([(one["step"], one["kind"], one["sentence"]) for one in found] for found in told)
    assert straight == cut
    assert [kind for _, kind, _ in straight].count("constant") == 1
    assert next(step for step, kind, _ in straight if kind == "constant") == 20
    assert any(
        "reward 'same' was 1 in all" in told for told in events(tmp_path / "cut", "end")[-1]["summary"]["alarms"]
    )
