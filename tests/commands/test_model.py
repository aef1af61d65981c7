"""`guerdon model check`: exit status and object, on policies that are here and on folders with something wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from guerdon import cli
from tests.models.small import saved, tokenizer
from tests.test_chat import CHATML, REWRITING
from tests.test_chat import tokenizer as ascii_tokenizer

KEYS = {"model", "source", "fit", "problems", "findings", "template", "ends", "pad", "example"}


def check(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict, str]:
    status = cli.run(["model", "check", *map(str, words), "--json"])
    captured = capsys.readouterr()
    return status, json.loads(captured.out.splitlines()[-1]), captured.err


def templated(folder: Path, template: str, **changes: object) -> Path:
    saved(folder, **changes)
    ascii_tokenizer(template).save_pretrained(folder)
    return folder


def test_the_tiny_policy_can_be_trained(capsys: pytest.CaptureFixture[str]):
    status, found, said = check(capsys, "tiny")
    assert (status, found["fit"], found["problems"]) == (0, True, [])
    assert set(found) == KEYS
    assert found["ends"] == [{"id": 1, "token": "<|end|>"}]
    assert found["example"] == "questionreply<|end|>"
    assert "tiny: can be trained" in said
    assert "note: No chat template" in said


def test_a_template_that_rewrites_cannot(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    status, found, said = check(capsys, templated(tmp_path, REWRITING, vocab_size=120))
    assert status == 1
    assert found["kind"] == "Unfit"
    assert "rewrites earlier turns" in found["problems"][0]
    assert found["template"]["append_only"] is False
    assert "problem: The template rewrites" in said
    assert set(found) == KEYS | {"error", "kind"}


def test_several_ends_and_a_shared_pad_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = templated(tmp_path, CHATML, vocab_size=120)
    (folder / "generation_config.json").write_text('{"eos_token_id": [1, 2]}')
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "pad_token": "<|end|>"}))
    status, found, said = check(capsys, folder)
    assert status == 0
    assert [one["token"] for one in found["ends"]] == ["<|end|>", "<|s|>", "<|e|>"]
    assert found["pad"] in found["ends"]
    assert "it is an end too, which is fine" in said


def test_ids_without_an_embedding_are_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    status, found, _ = check(capsys, templated(tmp_path, CHATML, vocab_size=30))
    assert status == 1
    assert "the model 30 embeddings" in found["problems"][0]


def test_no_end_token_is_a_problem_that_naming_one_mends(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    saved(tmp_path)
    tokenizer(eos_token=None).save_pretrained(tmp_path)
    status, found, _ = check(capsys, tmp_path)
    assert (status, found["template"]) == (1, None)
    assert "names no end token" in found["problems"][0]
    assert check(capsys, tmp_path, "--end-token", "<end>")[0] == 0
    status, found, _ = check(capsys, tmp_path, "--end-token", "<stop>")
    assert "not one token of" in found["error"]


@pytest.mark.parametrize("name", ["no/such/folder", "empty"])
def test_what_is_no_model_is_named(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "empty").mkdir()
    status, found, said = check(capsys, tmp_path / name)
    assert status == 1
    assert name in found["error"]
    assert "Traceback" not in said


@pytest.mark.slow
def test_smollm2_can_be_trained(capsys: pytest.CaptureFixture[str]):
    status, found, _ = check(capsys, "smollm2-135m")
    assert (status, found["problems"], found["findings"]) == (0, [], [])
    assert found["template"]["begins"] == found["template"]["ends"] == 1
    assert found["ends"] == [{"id": 2, "token": "<|im_end|>"}]
