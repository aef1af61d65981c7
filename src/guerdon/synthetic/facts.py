"""Facts that requests ask for, each of one word: capitals by country, and opposites (both ways)."""

from __future__ import annotations


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(one, other) for one, _, other in (pair.partition("-") for pair in text.split())]


CAPITALS = dict(
    _pairs("""
    France-Paris Spain-Madrid Italy-Rome Germany-Berlin Portugal-Lisbon Austria-Vienna Greece-Athens Poland-Warsaw
    Norway-Oslo Sweden-Stockholm Finland-Helsinki Denmark-Copenhagen Ireland-Dublin Hungary-Budapest Russia-Moscow
    Ukraine-Kyiv Romania-Bucharest Bulgaria-Sofia Serbia-Belgrade Croatia-Zagreb Turkey-Ankara Egypt-Cairo
    Kenya-Nairobi Ghana-Accra Morocco-Rabat Senegal-Dakar Japan-Tokyo China-Beijing Thailand-Bangkok Vietnam-Hanoi
    Iran-Tehran Iraq-Baghdad Syria-Damascus Lebanon-Beirut Canada-Ottawa Cuba-Havana Peru-Lima Chile-Santiago
    Uruguay-Montevideo Ecuador-Quito Venezuela-Caracas Colombia-Bogota Australia-Canberra Nepal-Kathmandu
    """)
)

_OPPOSED = _pairs("""
    hot-cold big-small up-down left-right day-night black-white open-closed fast-slow young-old rich-poor hard-soft
    early-late full-empty high-low strong-weak wet-dry long-short true-false light-dark near-far clean-dirty loud-quiet
    thick-thin
    """)

OPPOSITES = dict(_OPPOSED) | {other: one for one, other in _OPPOSED}
"""No word has two."""
