"""Punctuation that must not be there."""

from __future__ import annotations

from collections.abc import Mapping

from guerdon.rewards.verify.constraints.counts import Check

_COMMAS = ",\uff0c\u3001\u060c\ufe50\ufe51\uff64"
"""Commas of all scripts: Latin, full-width, ideographic, Arabic and their small forms."""


def no_comma(text: str) -> str:
    """There is no comma, of whatever script, not even in a number."""
    commas = sum(text.count(comma) for comma in _COMMAS)
    return f"{commas} commas" if commas else ""


KINDS: Mapping[str, Check] = {"punctuation:no_comma": no_comma}
