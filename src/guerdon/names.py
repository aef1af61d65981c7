"""What to say when a name is not known: the right one, if one is near, and all that are."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches

NEAR, ALIKE = 0.76, 0.6
"""Least likeness of two names of which one may be meant for the other, and where both begin alike, as most slips of the
pen do. One other letter among four, and that the first, makes another name."""


def nearest(name: str, known: Iterable[str], most: int = 20) -> str:
    """The end of an error message about an unknown name, such as "; did you mean 'reverse'? Accepted: copy, reverse".

    Beyond `most` accepted names only the likest five are listed, however unlike.
    """
    names = sorted(known)
    close = get_close_matches(name, names, n=5, cutoff=0.5)
    near = next((one for one in [*close, *names] if _near(name, one)), None)
    guess = f"; did you mean {near!r}?" if near else "."
    if len(names) <= most:
        return f"{guess} Accepted: {', '.join(names) or 'none'}"
    return f"{guess} Nearest of {len(names)}: {', '.join(close) or 'none'}"


def _near(name: str, other: str) -> bool:
    """Whether `name` may be meant for `other`, or for what stands behind its family ("family:name")."""
    other = other if ":" in name else other.rpartition(":")[2]
    swapped = sorted(name) == sorted(other)
    return swapped or SequenceMatcher(None, other, name).ratio() >= (ALIKE if name[:1] == other[:1] else NEAR)
