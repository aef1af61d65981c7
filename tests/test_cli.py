"""The contract of every command: its last line of standard output and its exit status."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from guerdon import __version__, cli
from guerdon.commands import output


def last(capsys: pytest.CaptureFixture[str]) -> dict:
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_version(capsys: pytest.CaptureFixture[str]):
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out.strip() == __version__


@pytest.mark.parametrize(
    ("words", "status", "kind", "said"),
    [
        (["evl"], 2, "UsageError", "No such command"),
        (["eval"], 2, "UsageError", "Missing argument"),
        (["eval", "tiny", "--samples", "x"], 2, "UsageError", "samples"),
        (["eval", "tiny", "--samples", "2", "--k", "1,4"], 2, "UsageError", "1 <= k <= --samples"),
        (["eval", "tiny", "--k", "one"], 2, "UsageError", "expected whole numbers"),
        (["eval", "no/such/folder"], 1, "FileNotFoundError", "no/such/folder"),
        (["eval", "tiny", "--tasks", "arithmatic"], 1, "ValueError", "did you mean 'arithmetic'"),
        (["sample", "tiny", ""], 2, "UsageError", "the prompt is empty"),
        (["report", "nowhere"], 1, "FileNotFoundError", "no run folder"),
        (["sample", "./nowhere", "Hello"], 1, "FileNotFoundError", "nowhere"),
    ],
)
def test_failures_are_one_line_and_one_object(
    words: list[str], status: int, kind: str, said: str, capsys: pytest.CaptureFixture[str]
):
    assert cli.run([*words, "--json"]) == status
    captured = capsys.readouterr()
    found = json.loads(captured.out.splitlines()[-1])
    assert found["kind"] == kind
    assert said in found["error"]
    assert "Traceback" not in captured.err
    assert "error:" in captured.err


def test_no_words_ask_for_help(capsys: pytest.CaptureFixture[str]):
    assert cli.run([]) == 0
    assert "COMMAND" in capsys.readouterr().out


def test_a_switch_may_have_a_value(capsys: pytest.CaptureFixture[str]):
    assert cli.run(["train", "--steps", "many", "--json=true"]) == 2
    assert last(capsys)["kind"] == "UsageError"
    assert cli.run(["train", "--steps", "many", "--json=false"]) == 2
    assert capsys.readouterr().out == ""


def test_a_warning_is_a_note(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(warnings, "showwarning", output.note)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("two rows [skipped]", stacklevel=1)
    assert capsys.readouterr().err == "note: two rows [skipped]\n"


def test_characters_that_a_policy_does_not_know_are_told(capsys: pytest.CaptureFixture[str]):
    assert cli.run(["sample", "tiny", "日本日 1+1=", "--json"]) == 0
    captured = capsys.readouterr()
    assert "note: tiny does not know 日 本 and" in captured.err
    assert cli.run(["sample", "tiny", "1+1="]) == 0
    assert "note" not in capsys.readouterr().err


def test_debug_shows_where_it_went_wrong(capsys: pytest.CaptureFixture[str]):
    assert cli.run(["report", "nowhere", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_is_no_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def interrupt(claims: bool) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("guerdon.commands.listing.methods", interrupt)
    assert cli.run(["methods", "--json"]) == 130
    assert last(capsys)["kind"] == "Interrupted"


def test_what_a_command_prints_goes_before_the_object(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def chatty(claims: bool) -> dict:
        print("not part of the result")
        return {"rate": float("nan"), "items": (1, float("inf")), "path": Path("x")}

    monkeypatch.setattr("guerdon.commands.listing.methods", chatty)
    assert cli.run(["methods", "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines() == ['{"rate": null, "items": [1, null], "path": "x"}']
    assert "not part" in captured.err


def test_methods_lists_every_card(capsys: pytest.CaptureFixture[str]):
    from guerdon.recipes import method_files

    assert cli.run(["methods", "--json"]) == 0
    listed = last(capsys)["methods"]
    assert {one["slug"] for one in listed} == {module.CARD.slug for module in method_files()}
    assert all(one["recipes"] for one in listed)
    assert cli.run(["methods"]) == 0
    assert "grpo" in capsys.readouterr().out


def test_tasks_lists_sets_and_rewards(capsys: pytest.CaptureFixture[str]):
    assert cli.run(["tasks", "--json"]) == 0
    found = last(capsys)
    assert "arithmetic" in found["tasks"]
    assert "numeric" in found["rewards"]
