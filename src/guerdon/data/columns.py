"""Numbers that a file has in a column of their own, as streams of a batch: a score, a soft label, a category's number.

An objective that needs the stream `column('score')` has the column `score` read for it; nothing else has to be said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from guerdon.marks import mark
from guerdon.types import Group

_PREFIX = "column:"


def column(name: str) -> str:
    """The stream of a column: on each token that is learned from, the number of its row (see `marks.marked`)."""
    return _PREFIX + name


def columns_of(needs: Iterable[str]) -> list[str]:
    """The columns among the streams that are needed."""
    return sorted({need.removeprefix(_PREFIX) for need in needs if need.startswith(_PREFIX)})


def with_columns(group: Group, data: Mapping[str, Any], names: Iterable[str]) -> Group:
    """The group marked with these columns of its row: a number for all episodes, or a list of one for each.

    ValueError names a column that is not there, or is no finite number.
    """
    numbers = {name: _numbers(data, name, len(group)) for name in names}
    return [mark(one, **{column(name): found[i] for name, found in numbers.items()}) for i, one in enumerate(group)]


def _numbers(data: Mapping[str, Any], name: str, count: int) -> list[float]:
    if name not in data:
        raise ValueError(f"there is no column {name!r}; found {sorted(data)}")
    found = data[name] if isinstance(data[name], list) else [data[name]] * count
    fit = [isinstance(one, int | float) and math.isfinite(one) for one in found]
    if len(found) != count or not all(fit):
        several = f", or a list of {count}" if count > 1 else ""
        raise ValueError(f"the column {name!r} is {data[name]!r}; expected a finite number{several}")
    return [float(one) for one in found]
