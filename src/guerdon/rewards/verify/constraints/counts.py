"""What all constraints share: how a count is compared, and what is raised when a constraint makes no sense."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from guerdon.names import nearest

Check = Callable[..., str]
"""check(text, **kwargs) -> '' when the text follows the constraint, else how it breaks it."""


class ConstraintError(ValueError):
    """A constraint that cannot be checked because it is written wrongly; it says nothing about any text."""


def _around(found: int, wanted: int) -> bool:
    return abs(found - wanted) <= max(1, wanted // 10)


_RELATIONS: Mapping[str, Callable[[int, int], bool]] = {
    "at least": operator.ge,
    "at most": operator.le,
    "less than": operator.lt,
    "more than": operator.gt,
    "exactly": operator.eq,
    "around": _around,
}


def compare(found: int, wanted: Any, relation: str, what: str) -> str:
    """'' where `found` stands in the relation to `wanted`, else what is wrong.

    relation: at least, at most, less than, more than, exactly, or around: within 10 % rounded down, and never less than
    1 (around 20 means 18 to 22; around 5 means 4 to 6). ConstraintError for any other, or for no whole number.
    """
    if not isinstance(relation, str) or relation not in _RELATIONS:
        raise ConstraintError(f"there is no relation {relation!r}{nearest(str(relation), _RELATIONS)}")
    number = whole(wanted, what)
    return "" if _RELATIONS[relation](found, number) else f"{found} {what}, expected {relation} {number}"


def whole(value: Any, what: str) -> int:
    """The whole number >= 0 a constraint states: 3, 3.0 (as tables store it) or '3'."""
    try:
        number = int(value) if not isinstance(value, bool) and float(value) == int(value) else -1
    except (TypeError, ValueError, OverflowError):
        number = -1
    if number < 0:
        raise ConstraintError(f"the number of {what} is {value!r}; expected a whole number, 0 or more")
    return number


def texts(value: Any, what: str) -> list[str]:
    """The texts a constraint lists: one or several, none of them blank."""
    listed = [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else []
    if not listed or not all(isinstance(text, str) and text.strip() for text in listed):
        raise ConstraintError(f"{what} is {value!r}; expected a text or a list of texts, none of them blank")
    return listed


def one_text(value: Any, what: str) -> str:
    """The one text that a constraint states, not blank."""
    listed = texts(value, what)
    if len(listed) > 1:
        raise ConstraintError(f"{what} is {value!r}; expected one text")
    return listed[0]
