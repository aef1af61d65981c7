"""`guerdon grade`: a verdict for one text, of any verifier, for people and for programs."""

import json

import pytest

from guerdon import cli


def grade(words, capsys):
    status = cli.run(["grade", *words, "--json"])
    return status, json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["numeric", "--gold", "5", "--text", "it is 5."], {"status": "right", "extracted": "5", "value": 1.0}),
        (["text", "--gold", "a", "--gold", "b", "--text", "b"], {"status": "right", "stage": "text"}),
        (["text", "--gold", "a", "--text", "c"], {"status": "wrong", "reason": "expected 'a'", "value": 0.0}),
        (["exact?worth=wrong=-1", "--gold", "a", "--text", "c"], {"value": -1.0}),
        (["numeric", "--gold", "no number", "--text", "5"], {"status": "failed", "stage": "gold", "value": None}),
        (["math", "--gold", r"\frac12", "--text", r"so it is \boxed{0.5}"], {"status": "right", "value": 1.0}),
        (
            ["instructions", "--gold", '[{"kind": "no_comma"}]', "--text", "a, b"],
            {"status": "wrong", "share": 0.0},
        ),
    ],
)
def test_a_verdict_for_programs(words, expected, capsys):
    status, found = grade(words, capsys)
    assert status == 0
    assert {key: found[key] for key in expected} == expected


def test_a_file_may_hold_the_text_and_the_answer(tmp_path, capsys):
    (tmp_path / "gold.txt").write_text("7")
    (tmp_path / "reply.txt").write_text("I say\n7")
    words = ["numeric", "--gold", f"@{tmp_path}/gold.txt", "--text", f"@{tmp_path}/reply.txt"]
    assert grade(words, capsys)[1]["status"] == "right"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mat", "--gold", "1", "--text", "1"], "did you mean 'math'"),
        (["numeric", "--gold", "@nowhere.txt", "--text", "1"], "@nowhere.txt: the file cannot be read"),
        (["instructions", "--gold", "no commas", "--text", "1"], "must be JSON of its constraints"),
        (["numeric", "--text", "1"], "--gold"),
    ],
)
def test_what_is_wrong_is_said(words, message, capsys):
    status, found = grade(words, capsys)
    assert status in (1, 2)
    assert message in found["error"]


def test_for_people_the_verdict_is_a_few_lines(capsys):
    assert cli.run(["grade", "numeric", "--gold", "5", "--text", "6"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "kind       numeric",
        "status     wrong",
        "reason     expected 5",
        "extracted  6",
        "stage      number",
        "value      0.0",
    ]
