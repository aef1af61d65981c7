"""`guerdon model average`: members trained by the command line, averaged, and loaded again as one reward model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from guerdon import cli
from guerdon.method import Heads
from guerdon.models.load import load_policy
from guerdon.models.reward import load_reward_model, save, with_heads
from tests.models.small import saved

PAIRS = [{"prompt": f"{i}+1=", "chosen": str(i + 1), "rejected": str(i)} for i in range(9)]


def average(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict]:
    status = cli.run(["model", "average", *map(str, words), "--json"])
    return status, json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in PAIRS))
    return file


@pytest.fixture
def members(tmp_path: Path) -> list[Path]:
    """Two reward models of one start, the second moved a little from the first."""
    start = load_policy(str(saved(tmp_path / "start")))
    folders = [tmp_path / "one", tmp_path / "two"]
    model = with_heads(start, Heads())
    for folder in folders:
        save(model, Heads(), folder)
        with torch.no_grad():
            for one in model.module.parameters():
                one += 0.01 * torch.randn(one.shape, generator=torch.Generator().manual_seed(one.numel()))
    return folders


def test_the_average_is_written_and_compared(members, pairs, tmp_path, capsys):
    out = tmp_path / "merged"
    status, found = average(capsys, *members, "--out", out, "--weights", "0.75,0.25", "--data", pairs)
    assert status == 0
    assert found["weights"] == [0.75, 0.25]
    assert 0 < found["apart"] < 0.5
    assert set(found["accuracy"]) == {"members", "predictions", "average"}
    assert found["accuracy"]["average"]["n"] == len(PAIRS)
    one, two, made = (load_reward_model(str(folder)).module.score.weight for folder in (*members, out))
    torch.testing.assert_close(made, 0.75 * one + 0.25 * two)


@pytest.mark.slow
def test_members_trained_from_one_probe_can_be_averaged(pairs, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start = saved(tmp_path / "start")
    small = f"--data {pairs} --steps 2 --prompts-per-step 4 --heldout 0 --quiet"
    assert cli.run(f"train bradley_terry --model {start} --frozen-trunk true --out probe {small}".split()) == 0
    for seed, name in ((1, "one"), (2, "two")):
        words = f"train warm --model probe --seed {seed} --lr {seed}e-3 --out {name} {small}"
        assert cli.run(words.split()) == 0
    capsys.readouterr()
    status, found = average(capsys, "one", "two", "--out", "merged")
    assert (status, found["weights"]) == (0, [0.5, 0.5])
    assert load_reward_model("merged").module.config.num_labels == 1


def test_strangers_odd_weights_and_a_folder_in_use_are_refused(members, pairs, tmp_path, capsys):
    out = tmp_path / "merged"
    assert average(capsys, *members, "--out", out, "--weights", "half")[1]["kind"] == "ValueError"
    assert "sum to 1" in average(capsys, *members, "--out", out, "--weights", "1,1")[1]["error"]
    assert average(capsys, *members, "--out", members[0])[1]["kind"] == "FileExistsError"
    assert "is a LlamaForCausalLM" in str(average(capsys, members[0], tmp_path / "start", "--out", out)[1])
    start = tmp_path / "start"
    assert "no reward model" in average(capsys, start, start, "--out", out, "--data", pairs)[1]["error"]
    assert not out.exists()


def test_policies_can_be_averaged_too(members, tmp_path, capsys):
    start, out = tmp_path / "start", tmp_path / "merged"
    status, found = average(capsys, start, start, start, "--out", out)
    assert (status, found["apart"], found["accuracy"]) == (0, 0.0, None)
    before, after = (load_policy(str(one)).module.state_dict() for one in (start, out))
    assert all(torch.equal(before[name], after[name]) for name in before)
