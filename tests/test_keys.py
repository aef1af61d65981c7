"""Signatures as command lines: what is read, and what is said about what cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.keys import UsageError, check_complete, keys_of, parse


def recipe(
    data: str,
    lr: Annotated[float, "learning rate"] = 1e-3,
    steps: int = 10,
    samples_per_prompt: int = 8,
    gradient_checkpointing: bool = False,
    schedule: Literal["constant", "linear"] = "constant",
    reward: str | None = None,
    chat_template: bool | None = None,
    out_file: Path = Path("x"),
    guessed=3,
    reduce: Any = max,
    *rest: int,
) -> None:
    """A recipe."""


KEYS = keys_of(recipe)


def read(*words: str) -> dict[str, Any]:
    return parse(KEYS, words, "guerdon train x --help")


def refusal(*words: str) -> str:
    with pytest.raises(UsageError) as caught:
        read(*words)
    return str(caught.value)


def test_keys_are_the_plain_parameters():
    assert list(KEYS) == [
        "data", "lr", "steps", "samples_per_prompt", "gradient_checkpointing", "schedule", "reward", "chat_template",
        "out_file", "guessed",
    ]  # fmt: skip
    assert KEYS["lr"].help == "learning rate"
    assert KEYS["guessed"].kind is int


def test_every_kind_of_value_is_read():
    words = "--data rows.jsonl --lr 1e-4 --steps=1e2 --samples-per-prompt 4 --gradient-checkpointing --schedule linear"
    words += " --reward none --no-chat-template --out-file a/b --guessed -2"
    assert read(*words.split()) == {
        "data": "rows.jsonl",
        "lr": 1e-4,
        "steps": 100,
        "samples_per_prompt": 4,
        "gradient_checkpointing": True,
        "schedule": "linear",
        "reward": None,
        "chat_template": False,
        "out_file": Path("a/b"),
        "guessed": -2,
    }


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["--gradient-checkpointing", "false"], False),
        (["--no-gradient-checkpointing"], False),
        (["--gradient_checkpointing=yes"], True),
        (["--gradient-checkpointing", "--lr", "1"], True),
    ],
)
def test_flags(words: list[str], value: bool):
    assert read(*words)["gradient_checkpointing"] is value


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--sample-per-prompt", "4"], ["--sample-per-prompt", "did you mean --samples-per-prompt", "train x --help"]),
        (["--learning-rate", "4"], ["did you mean --lr"]),
        (["--num-generations", "4"], ["did you mean --samples-per-prompt"]),
        (["--zzzzzz", "4"], ["there is no key --zzzzzz. List all with"]),
        (["--lr", "fast"], ["--lr is 'fast'; expected a number"]),
        (["--lr", "nan"], ["expected a number"]),
        (["--steps", "2.5"], ["--steps is '2.5'; expected a whole number"]),
        (["--steps", "none"], ["expected a whole number"]),
        (["--schedule", "cosine"], ["--schedule is 'cosine'; expected one of constant, linear"]),
        (["--steps"], ["--steps has no value"]),
        (["--data", "--steps", "3"], ["--data has no value; expected text"]),
        (["--steps", "1", "--steps", "2"], ["--steps is given twice"]),
        (["--no-gradient-checkpointing=1"], ["takes no value"]),
        (["steps", "2"], ["'steps' is not a key"]),
        (["--no-steps"], ["there is no key --no-steps; did you mean --steps"]),
        (["--chat-template=maybe"], ["expected true or false, or none"]),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(words: list[str], parts: list[str]):
    said = refusal(*words)
    for part in parts:
        assert part in said


def test_required_keys_are_asked_for():
    with pytest.raises(UsageError, match="--data must be given"):
        check_complete(KEYS, {}, "x")
    check_complete(KEYS, {"data": "x"}, "x")


def test_a_required_parameter_that_no_word_can_give_is_named():
    def bad(function: dict[str, int]) -> None: ...

    with pytest.raises(TypeError, match="bad: parameter 'function'"):
        keys_of(bad)


@settings(max_examples=50, deadline=None)
@given(st.integers(-(10**15), 10**15), st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_survive_the_command_line(whole: int, number: float):
    found = read("--steps", str(whole), "--lr", repr(number))
    assert found == {"steps": whole, "lr": number}
