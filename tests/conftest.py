"""What all tests share: names of parametrised cases that are the same in every process."""

from __future__ import annotations

from typing import Any


def pytest_make_parametrize_id(config: Any, val: object, argname: str) -> str | None:
    """Functions go by their name, and values by how they print unless that tells an address."""
    if not callable(val):
        return None
    return getattr(val, "__name__", None) or (None if " at 0x" in repr(val) else repr(val))
