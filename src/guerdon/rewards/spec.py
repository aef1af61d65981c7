"""Several rewards in one line, as the command line says it: `numeric,0.2*think_format,-1*rewards.py:too_long`.

A line is a list of rewards joined by commas, each a spec of `load_reward` with an optional weight before it:
`weight*spec`. The weight is a finite number (1 where none is given; 0: watched only, not learned from; negative: a
penalty). The first reward is the one that decides what is right.

A comma belongs to the reward before it, and splits nothing, inside brackets or double quotes (`?allowed=["a","b"]`),
and where what follows it is a further key=value of the options (`numeric?worth=cannot_tell=none,wrong=-0.5`). Any
other comma of an option is written %2C. A path with a comma stands in double quotes: `0.5*"a,b.py:score"`.
"""

from __future__ import annotations

import math
import re

_WEIGHED = re.compile(r"\s*([-+]?[\w.]+(?:e[-+]?\d+)?)\s*\*\s*(.*)", re.DOTALL | re.IGNORECASE)
_OPENING, _CLOSING = "([{", ")]}"


def parse_rewards(text: str) -> list[tuple[float, str]]:
    """Weight and spec of each reward of a line, in order. ValueError says what was found and what was expected."""
    found = [_weighed(piece, text) for piece in _pieces(text)]
    specs = [spec for _, spec in found]
    twice = next((spec for spec in specs if specs.count(spec) > 1), None)
    if twice:
        raise ValueError(f"rewards {text!r}: {twice!r} is there twice; give it once, with the sum of its weights")
    if not any(weight for weight, _ in found):
        raise ValueError(f"rewards {text!r}: every weight is 0, so nothing could be learned; give one of them a weight")
    return found


def _pieces(text: str) -> list[str]:
    pieces: list[str] = []
    for piece in _split(text):
        head = piece.partition("?")[0]
        if pieces and "?" in pieces[-1] and "=" in head and '"' not in head:
            pieces[-1] += "," + piece  # a spec has '=' only after its '?', so this goes on with the options before
        else:
            pieces.append(piece)
    return pieces


def _split(text: str) -> list[str]:
    """At commas outside brackets and double quotes."""
    pieces, start, depth, quoted = [], 0, 0, False
    for place, letter in enumerate(text):
        if letter == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == "," and depth <= 0:
            pieces.append(text[start:place])
            start = place + 1
    if quoted or depth > 0:
        raise ValueError(f"rewards {text!r}: a {'double quote' if quoted else 'bracket'} is opened and never closed")
    return [*pieces, text[start:]]


def _weighed(piece: str, text: str) -> tuple[float, str]:
    match = _WEIGHED.fullmatch(piece)
    weight, spec = (_weight(match[1], text), match[2].strip()) if match else (1.0, piece.strip())
    if spec[:1] == spec[-1:] == '"' and spec.count('"') == 2:
        return weight, spec[1:-1]
    if not spec:
        raise ValueError(f"rewards {text!r}: found {piece.strip()!r} where a reward should be; expected {_FORM}")
    name = spec.partition("?")[0]
    if "=" in name or "*" in name:
        raise ValueError(f"rewards {text!r}: found {spec!r}; expected {_FORM}, the weight first")
    return weight, spec


_FORM = "name, file.py:function or weight*name, joined by commas"


def _weight(word: str, text: str) -> float:
    try:
        weight = float(word)
    except ValueError:
        weight = math.nan
    if not math.isfinite(weight):
        raise ValueError(f"rewards {text!r}: the weight {word!r} is no finite number; expected {_FORM}")
    return weight
