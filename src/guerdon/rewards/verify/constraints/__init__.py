"""Constraints on a text that can be checked by looking at it: the 25 kinds of IFEval, one file per family.

The kinds, their names and their arguments are those of Zhou et al. 2023, "Instruction-Following Evaluation for Large
Language Models"; what exactly follows each is said in its docstring. Where the public checker accepts what the words of
a constraint exclude (a keyword inside another word, bare text as JSON, an option named together with its opposite,
empty sections), these do not.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from guerdon.names import nearest
from guerdon.rewards.verify.constraints import (
    case,
    combination,
    content,
    ends,
    formats,
    keywords,
    language,
    length,
    punctuation,
)
from guerdon.rewards.verify.constraints.counts import Check, ConstraintError

__all__ = ["KINDS", "Constraint", "ConstraintError", "constraint"]

KINDS: Mapping[str, Check] = {
    **keywords.KINDS,
    **language.KINDS,
    **length.KINDS,
    **content.KINDS,
    **formats.KINDS,
    **combination.KINDS,
    **ends.KINDS,
    **case.KINDS,
    **punctuation.KINDS,
}


@dataclass(frozen=True)
class Constraint:
    """One constraint: its kind and the arguments of it."""

    kind: str
    kwargs: Mapping[str, Any]

    def broken(self, text: str) -> str:
        """How the text breaks it; '' when it follows. ConstraintError for arguments that make no sense."""
        try:
            return KINDS[self.kind](text, **self.kwargs)
        except ConstraintError as error:
            raise ConstraintError(f"{self.kind}: {error}") from None


def constraint(kind: str, kwargs: Mapping[str, Any]) -> Constraint:
    """A constraint by name ('length_constraints:number_words', or its last part); arguments that are None are left out.

    ConstraintError names what is not known or missing.
    """
    names = {name.split(":")[1]: name for name in KINDS}
    full = names.get(kind, kind)
    if full not in KINDS:
        raise ConstraintError(f"there is no constraint {kind!r}{nearest(str(kind), KINDS, most=25)}")
    given = {key: value for key, value in kwargs.items() if value is not None}
    try:
        inspect.signature(KINDS[full]).bind("", **given)
    except TypeError as error:
        accepted = list(inspect.signature(KINDS[full]).parameters)[1:]
        raise ConstraintError(f"{full}: {error}; it takes {', '.join(accepted) or 'no arguments'}") from None
    return Constraint(full, given)
