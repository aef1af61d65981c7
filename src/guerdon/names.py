"""What to say when a name is not known: the nearest right one, and all that are."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str], most: int = 20) -> str:
    """The end of an error message about an unknown name, such as "; did you mean 'reverse'? Accepted: copy, reverse".

    Beyond `most` accepted names only the nearest five are listed.
    """
    names = sorted(known)
    close = get_close_matches(name, names, n=5, cutoff=0.5)
    guess = f"; did you mean {close[0]!r}?" if close else "."
    if len(names) <= most:
        return f"{guess} Accepted: {', '.join(names) or 'none'}"
    return f"{guess} Nearest of {len(names)}: {', '.join(close) or 'none'}"
