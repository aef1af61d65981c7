"""Things a text has to hold: placeholders in square brackets, a postscript."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from guerdon.rewards.verify.constraints.counts import Check, compare, one_text
from guerdon.rewards.words import words

_BRACKETS = re.compile(r"\[([^\[\]\n]*)\](?!\()")
_INITIALS = re.compile(r"(?:[^\W\d_]\.? ?){1,5}")


def number_placeholders(text: str, num_placeholders: Any, relation: str = "at least") -> str:
    """Placeholders such as [address]: brackets on one line with a letter inside; links and check boxes are none.

    The same placeholder counts as often as it stands there.
    """
    found = [
        inside
        for inside in _BRACKETS.findall(text)
        if any(map(str.isalpha, inside)) and inside.strip() not in ("x", "X")
    ]
    return compare(len(found), num_placeholders, relation, "placeholders")


def postscript(text: str, postscript_marker: str = "P.S.") -> str:
    """Something is said after the marker, which starts a line or follows white space, and something before it.

    Caseless. In initials (P.S., P.P.S) a space after a point, and no point after the last, are the same.
    """
    marker = one_text(postscript_marker, "postscript_marker")
    found = _marker(marker.strip()).search(text)
    if not found:
        return f"no postscript that starts with {marker}"
    if not words(text[: found.start()]):
        return f"nothing before {marker}"
    return "" if words(text[found.end() :]) else f"nothing after {marker}"


def _marker(marker: str) -> re.Pattern[str]:
    if _INITIALS.fullmatch(marker) and "." in marker:
        letters = [letter for letter in marker if letter.isalpha()]
        body = r"\.\s?".join(map(re.escape, letters)) + r"(?:\.|(?!\w|\.))"
    else:
        body = re.escape(marker) + (r"(?!\w)" if marker[-1].isalnum() else "")
    return re.compile(rf"(?<![^\s*_>#(]){body}", re.IGNORECASE)


KINDS: Mapping[str, Check] = {
    "detectable_content:number_placeholders": number_placeholders,
    "detectable_content:postscript": postscript,
}
