"""What is offered for a name that is not known: what may have been meant, or nothing."""

from __future__ import annotations

import pytest

from guerdon.names import nearest

METHODS = ["drpo", "group_robust_po", "odin", "rlsf", "vrpo", "warm"]


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("grpoo", ["grpo", "ppo", "dr_grpo"], "grpo"),
        ("gpro", ["grpo", "ppo", "dr_grpo"], "grpo"),
        ("arithmatic", ["arithmetic", "copy"], "arithmetic"),
        ("lvl", ["level", "reward", "system", "template"], "level"),
        ("key", ["key_env", "model"], "key_env"),
        ("13b", ["13a", "intl", "char"], "13a"),
        ("vrop", METHODS, "vrpo"),
        ("group-robust-po", METHODS, "group_robust_po"),
    ],
)
def test_a_slip_of_the_pen_is_put_right(name: str, known: list[str], meant: str):
    assert nearest(name, known).startswith(f"; did you mean {meant!r}? Accepted: ")


@pytest.mark.parametrize("name", ["grpo", "ppo", "quux", ""])
def test_another_name_is_no_slip(name: str):
    assert nearest(name, METHODS) == f". Accepted: {', '.join(METHODS)}"


def test_of_many_names_the_likest_are_listed():
    known = [f"number_{i:02}" for i in range(30)]
    found = nearest("number_x7", known)
    assert found.startswith("; did you mean 'number_")
    assert "? Nearest of 30: number_" in found
    assert found.count(",") == 4
