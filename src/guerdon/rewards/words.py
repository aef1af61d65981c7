"""Words, sentences and paragraphs of a text in any script: what length limits, keywords and overlaps are counted in.

Every pattern here is linear in the text: no reply can make one hang.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import groupby

from guerdon.rewards.verify.extract import plain

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Han, Hiragana and Katakana: each character counts as a word."""
_UNDIVIDED = _UNSPACED + "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""These and Thai, Lao, Burmese, Khmer: scripts in which nothing shows where a word ends."""
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'"})


def words(text: str) -> list[str]:
    """The words of a text, as written.

    Apostrophes, hyphens and underscores inside a word join (don't, well-known), points and commas inside a number too
    (3.14, 1,000); everything else that is no letter, digit or mark divides. Each Han, Hiragana or Katakana character
    is a word; Thai and its like are one word between spaces.
    """
    return _patterns()[0].findall(text)


def pieces(text: str) -> list[str]:
    """Words without anything that joins: don't is two, 3.14 is two. What overlap scores count."""
    return _patterns()[1].findall(text)


def spelled(text: str) -> str:
    """Text as keywords are compared: Unicode NFKC, caseless, one apostrophe and one hyphen, nothing invisible."""
    return _INVISIBLE.sub("", plain(text).translate(_APOSTROPHES)).casefold()


def count_phrase(phrase: str, text: str) -> int:
    """How often a word or phrase stands in a text, as whole words, caseless, whatever white space divides it."""
    return sum(1 for _ in phrase_pattern(phrase).finditer(spelled(text)))


def phrase_pattern(phrase: str) -> re.Pattern[str]:
    """Finds a word or phrase in `spelled` text; 'art' is not in 'party', nor 'cat' in 'cats'.

    No edge is asked for at a symbol (C++) or in scripts that do not divide words.
    """
    parts = spelled(phrase).split()
    letter = rf"[^\W_{_UNDIVIDED}]"
    before = rf"(?<!{letter})" if parts and re.match(letter, parts[0]) else ""
    after = rf"(?!{letter})" if parts and re.match(letter, parts[-1][-1]) else ""
    return re.compile(before + r"\s+".join(map(re.escape, parts)) + after)


def paragraphs(text: str) -> list[str]:
    """Runs of lines divided by blank lines."""
    runs = groupby(text.splitlines(), key=lambda line: bool(line.strip()))
    return ["\n".join(lines) for said, lines in runs if said]


_ITEM = re.compile(r"[ \t]*(?:[-*+\u2022]|\d{1,3}[.)]|#{1,6})[ \t]+")
_CLOSERS = "\"'\u201d\u2019\u00bb)\\]*_"
_END = re.compile(
    rf"(?<![.!?\u2026])[.!?\u2026\u0964\u061f\u06d4]++[{_CLOSERS}]*+(?=\s|$)"
    rf"|[\u3002\uff01\uff1f]++[{_CLOSERS}\u300d\u300f]*+"
)
_OPENERS = re.compile(r"[\s\"'\u201c\u2018\u00ab(\[*_]*+")
_TITLES = {"mr", "mrs", "ms", "dr", "prof", "st", "mt", "gen", "sen", "rep", "gov", "capt", "lt", "col"}
_LEADING = {*_TITLES, "vs", "cf", "approx", "e.g", "i.e"}
"""Abbreviations that never stand last in a sentence."""
_MONTHS = {"jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec"}
_NUMBERED = {*_MONTHS, "no", "nos", "fig", "figs", "vol", "p", "pp", "ch", "art", "sec", "eq"}
"""Abbreviations before a digit."""
_MAY_END = {"etc", "inc", "ltd", "co", "corp", "jr", "sr", "a.m", "p.m", "u.s", "u.k"}


def sentences(text: str) -> list[str]:
    """The sentences of a text.

    '.', '!' and '?' (and their likes in other scripts, and ellipses) end one when white space or the end of the text
    follows, closing quotes and brackets in between. A paragraph, a list item and a heading end where they end; words
    after the last mark are a sentence too. No end is a point in a number (3.14) or a name (example.com), after a title,
    an initial or e.g. (Dr., J., vs.), after 'No.' or 'Jan.' before a digit; nor an ellipsis, a quoted mark ("Stop!" he
    said), or the point of etc., a.m., U.S., Inc. before a small letter.
    """
    return [part for block in _blocks(text) for part in _cut(block) if words(part)]


def _blocks(text: str) -> list[str]:
    """Paragraphs, list items and headings, without their markers."""
    blocks: list[list[str]] = []
    open_block = False
    for line in text.splitlines():
        marker = _ITEM.match(line)
        if not line.strip():
            open_block = False
        elif marker or not open_block:
            blocks.append([line[marker.end() :] if marker else line])
            open_block = not (marker and "#" in marker.group())
        else:
            blocks[-1].append(line)
    return ["\n".join(lines) for lines in blocks]


def _cut(block: str) -> list[str]:
    cuts = [match.end() for match in _END.finditer(block) if _ends(block, match)]
    return [block[start:end] for start, end in zip([0, *cuts], [*cuts, len(block)], strict=True)]


def _ends(block: str, mark: re.Match[str]) -> bool:
    following = _OPENERS.match(block, mark.end())
    after = block[following.end() : following.end() + 1] if following else ""
    if not after:
        return True
    written = mark.group().rstrip(_CLOSERS.replace("\\", ""))
    quoted = mark.group() != written
    if after.islower() and (quoted or (written != "." and set(written) <= set(".\u2026"))):
        return False
    if written != ".":
        return True
    return not _shortened(block[max(0, mark.start() - 20) : mark.start()], after)


def _shortened(before: str, after: str) -> bool:
    """Whether a point after these characters, with this character next, belongs to an abbreviation."""
    word = re.split(r"[\s(\[\"'\u201c*_]", before)[-1]
    if len(word) == 1 and word.isupper() and word != "I":
        return True
    low = word.lower()
    return low in _LEADING or (low in _NUMBERED and after.isdigit()) or (low in _MAY_END and after.islower())


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """(words, pieces). `re` takes combining marks for no part of a word, which cuts Hindi and decomposed accents up."""
    marks = "".join(chr(i) for i in range(0x300, 0x1F000) if unicodedata.category(chr(i)).startswith("M"))
    letter = rf"[^\W_{_UNSPACED}]"
    run = rf"{letter}(?:{letter}|[{marks}])*+"
    return (
        re.compile(rf"[{_UNSPACED}]|{run}(?:['\u2019\-\u2010\u2011_]{run}|(?<=\d)[.,](?=\d){run})*+"),
        re.compile(rf"[{_UNSPACED}]|{run}"),
    )
