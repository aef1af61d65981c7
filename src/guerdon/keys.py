"""The command line of a function: its keyword arguments are the keys, their annotations say what a value may be.

Understood are int, float, str, bool, Path, Literal, each also `| None`; `Annotated[T, "..."]` adds the line of help.
A parameter of another kind (a function, say) is for Python only and keeps its default.
"""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

REQUIRED: Any = inspect.Parameter.empty

ELSEWHERE = {
    "learning_rate": "lr",
    "actor_lr": "lr",
    "num_generations": "samples_per_prompt",
    "group_size": "samples_per_prompt",
    "batch_size": "prompts_per_step",
    "train_batch_size": "prompts_per_step",
    "max_completion_length": "max_new_tokens",
    "max_response_length": "max_new_tokens",
    "max_tokens": "max_new_tokens",
    "max_steps": "steps",
    "kl_coef": "beta",
    "model_name_or_path": "model",
    "dataset": "tasks",
}
"""What other libraries call a key, and what it is called here."""

_PLAIN = (bool, int, float, str, Path)


class UsageError(ValueError):
    """The command line asks for something that does not exist, or gives a value of the wrong kind."""


@dataclass(frozen=True)
class Key:
    """One key of a command line. kind: one of bool, int, float, str, Path, or a Literal; optional: None is a value."""

    name: str
    kind: Any
    optional: bool = False
    default: Any = REQUIRED
    help: str = ""

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def expects(self) -> str:
        """What a value looks like, for people."""
        names = {int: "a whole number", float: "a number", str: "text", Path: "a path", bool: "true or false"}
        plain = names.get(self.kind) or "one of " + ", ".join(map(str, get_args(self.kind)))
        return f"{plain}, or none" if self.optional else plain

    def read(self, text: str) -> Any:
        """The value that a word stands for. UsageError names key, word and what was expected."""
        if self.optional and text.lower() == "none":
            return None
        try:
            return _read(self.kind, text)
        except ValueError:
            raise UsageError(f"{self.flag} is {text!r}; expected {self.expects}") from None


def _read(kind: Any, text: str) -> Any:
    if get_origin(kind) is Literal:
        return next(choice for choice in get_args(kind) if str(choice) == text) if text in _texts(kind) else _refuse()
    if kind is bool:
        answers = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        return answers[text.lower()] if text.lower() in answers else _refuse()
    if kind is int:
        number = float(text)  # so that 1e3 is a whole number too
        return int(text) if text.lstrip("+-").isdigit() else int(number) if number.is_integer() else _refuse()
    if kind is float:
        number = float(text)
        return number if math.isfinite(number) else _refuse()
    return kind(text)


def _texts(kind: Any) -> list[str]:
    return [str(choice) for choice in get_args(kind)]


def _refuse() -> Any:
    raise ValueError


def keys_of(function: Callable[..., Any]) -> dict[str, Key]:
    """The keys of a function by name, in the order of its parameters. TypeError when a required one is not plain."""
    found = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            continue
        key = key_of(parameter)
        if key is not None:
            found[key.name] = key
        elif parameter.default is REQUIRED:
            raise TypeError(
                f"{function.__name__}: parameter {parameter.name!r} is {parameter.annotation!r}, which a command line "
                "cannot give; expected int, float, str, bool, Path or Literal, or a default"
            )
    return found


def key_of(parameter: inspect.Parameter) -> Key | None:
    """The key that a parameter is, or None when it is for Python only."""
    kind, text = parameter.annotation, ""
    if get_origin(kind) is Annotated:
        kind, *notes = get_args(kind)
        text = next((note for note in notes if isinstance(note, str)), "")
    if kind is REQUIRED:
        kind = type(parameter.default) if parameter.default not in (REQUIRED, None) else str
    optional = False
    if get_origin(kind) in (Union, types.UnionType):
        arms = [arm for arm in get_args(kind) if arm is not type(None)]
        optional = len(arms) < len(get_args(kind))
        kind = arms[0] if len(arms) == 1 else None
    if kind not in _PLAIN and get_origin(kind) is not Literal:
        return None
    return Key(parameter.name, kind, optional, parameter.default, text)


def parse(keys: Mapping[str, Key], words: Sequence[str], where: str) -> dict[str, Any]:
    """`--key value`, `--key=value`, `--flag` and `--no-flag` as arguments. `where`: how to list the keys."""
    given: dict[str, Any] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("--"):
            raise UsageError(f"{word!r} is not a key; keys start with '--'. List them with: {where}")
        flag, has_value, text = word.partition("=")
        key, value = _find(keys, flag, where)
        if key.name in given:
            raise UsageError(f"{key.flag} is given twice; expected it once")
        if value is None and not has_value and key.kind is bool and not _answers(left):
            value = True
        if value is not None and has_value:
            raise UsageError(f"{flag} takes no value; found {text!r}")
        if value is None and not has_value:
            if not left or left[0].startswith("--"):
                raise UsageError(f"{key.flag} has no value; expected {key.expects}")
            text = left.pop(0)
        given[key.name] = key.read(text) if value is None else value
    return given


def _answers(left: Sequence[str]) -> bool:
    """Whether the next word says what a flag is set to."""
    return bool(left) and left[0].lower() in ("true", "false", "yes", "no", "none", "0", "1")


def _find(keys: Mapping[str, Key], flag: str, where: str) -> tuple[Key, bool | None]:
    """The key of a flag, and the value that the flag alone gives it (`--no-x` is False)."""
    name = flag[2:].replace("-", "_")
    if name in keys:
        return keys[name], None
    bare = name.removeprefix("no_")
    if bare != name and bare in keys and keys[bare].kind is bool:
        return keys[bare], False
    close = [ELSEWHERE[name]] if ELSEWHERE.get(name) in keys else get_close_matches(name, keys, n=1, cutoff=0.5)
    guess = f"; did you mean {keys[close[0]].flag}?" if close else "."
    raise UsageError(f"there is no key {flag}{guess} List all with: {where}")


def check_complete(keys: Mapping[str, Key], given: Mapping[str, Any], where: str) -> None:
    """UsageError when a key without a default was not given."""
    lacking = [key for key in keys.values() if key.default is REQUIRED and key.name not in given]
    if lacking:
        expected = "; ".join(f"{key.flag}: {key.help or key.expects}" for key in lacking)
        raise UsageError(f"{', '.join(key.flag for key in lacking)} must be given ({expected}). See: {where}")
