"""Units in one spelling: 'square centimetres', 'cm^2', 'sq cm' and 'cm²' are the same; cm and m are not."""

from __future__ import annotations

import re

_SAME = {
    "m": "meter metre", "cm": "centimeter centimetre", "mm": "millimeter millimetre", "km": "kilometer kilometre",
    "inch": "in inches", "ft": "foot feet", "yd": "yard", "mi": "mile", "g": "gram gm", "kg": "kilogram kilo",
    "mg": "milligram", "lb": "pound lbs", "oz": "ounce", "l": "liter litre L", "ml": "milliliter millilitre mL",
    "s": "second sec secs", "min": "minute mins", "h": "hour hr hrs", "day": "days", "week": "weeks wk",
    "month": "months", "year": "years yr yrs", "$": "dollar dollars usd USD", "cent": "cents", "€": "euro eur EUR",
    "£": "pounds-sterling gbp GBP", "¥": "yen yuan", "degree": "degrees deg", "rad": "radian radians",
    "mph": "miles-per-hour", "km/h": "kph kmh", "unit": "units", "gal": "gallon", "n": "newton N", "j": "joule J",
    "person": "people persons", "child": "children", "man": "men", "woman": "women",
}  # fmt: skip
_CANONICAL = {word: unit for unit, words in _SAME.items() for word in (unit, *words.split())}
_POWERS = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cubed": 3, "cu": 3}
_WORD = re.compile(r"\s*(?:(/|\bper\b)|(\^\s*\{?\s*(-?\d+)\s*\}?)|([A-Za-z$€£¥'-]+)|(\\cdot|[*.·])|([()]))", re.ASCII)

WORDS = frozenset(_CANONICAL) - {"m", "g", "l", "s", "h", "n", "j", "L", "N", "J", "in", "min", "$", "€", "£", "¥"}
"""Words read as units where they stand after a number without being marked as text."""

LETTERS = frozenset({"m", "g", "l", "s", "h", "L", "N", "J", "C", "F", "V", "W", "A", "K"})
"""Letters that may be a unit or a variable."""


def canonical(text: str) -> str:
    """A unit's one spelling, e.g. 'cm^2', 'mi/h'; words that are no unit come back singular and in lower case."""
    parts: list[tuple[str, int]] = []
    sign, power, position = 1, 0, 0
    text = text.strip()
    while position < len(text):
        match = _WORD.match(text, position)
        if match is None:
            return " ".join(text.split()).casefold()
        position = match.end()
        slash, raised, exponent, word = match.group(1), match.group(2), match.group(3), match.group(4)
        if slash:
            sign = -1
        elif raised and parts:
            parts[-1] = (parts[-1][0], parts[-1][1] * int(exponent[:3]))
        elif word in _POWERS:
            power = _POWERS[word]
            if word.endswith("ed") and parts:
                parts[-1] = (parts[-1][0], parts[-1][1] * power)
                power = 0
        elif word:
            parts.append((_singular(word), sign * (power or 1)))
            power = 0
    merged: dict[str, int] = {}
    for unit, exponent_ in parts:
        merged[unit] = merged.get(unit, 0) + exponent_
    alias = _CANONICAL.get("-".join(_singular(word) for word in text.split()), "")
    written = " ".join(unit if n == 1 else f"{unit}^{n}" for unit, n in merged.items())
    return _COMPOUND.get(written, alias or written)


_COMPOUND = {"mi h^-1": "mph", "km h^-1": "km/h"}


def _singular(word: str) -> str:
    if word in _CANONICAL:
        return _CANONICAL[word]
    lower = word.casefold()
    for form in (lower, lower.removesuffix("s"), lower.removesuffix("es")):
        if form in _CANONICAL:
            return _CANONICAL[form]
    if lower.endswith("ies") and len(lower) > 4:
        return lower[:-3] + "y"
    return lower[:-1] if lower.endswith("s") and not lower.endswith("ss") and len(lower) > 3 else lower
