"""What doctor finds, and the command it gives for what is missing."""

from __future__ import annotations

import json

import pytest

from guerdon import cli, doctor


def test_everything_needed_is_here(capsys: pytest.CaptureFixture[str]):
    assert cli.run(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert all(found["packages"].values())
    assert found["machine"]["cpus"] >= 1
    assert {feature["name"] for feature in found["features"]} == {feature.name for feature in doctor.FEATURES}


def test_what_is_missing_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    real = doctor.find_spec
    monkeypatch.setattr(doctor, "find_spec", lambda name: None if name == "peft" else real(name))
    lora = next(feature for feature in doctor.examine()["features"] if feature["name"] == "lora")
    assert lora["ready"] is False
    cli.run(["doctor"])
    assert "pip install 'guerdon[lora]'" in capsys.readouterr().out


def test_problems_are_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor, "_memory_gb", lambda: (4.0, 0.5))
    monkeypatch.setattr(doctor.os, "access", lambda path, mode: False)
    problems = doctor.examine()["problems"]
    assert any("0.5 GB of memory" in problem for problem in problems)
    assert any("--out" in problem for problem in problems)
