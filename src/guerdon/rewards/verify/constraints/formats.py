"""The form of a text: bullets, highlights, sections, a title, JSON, one of some fixed answers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from guerdon.rewards.verify.constraints.counts import Check, compare, one_text, texts
from guerdon.rewards.words import phrase_pattern, spelled, words

YES_NO_MAYBE = ("My answer is yes.", "My answer is no.", "My answer is maybe.")

_BULLET = re.compile(r"[ \t]*[*+\-\u2022][ \t]+(?=\S)")
_RULE = re.compile(r"[ \t]*(?:\*[ \t]*+){3,}|[ \t]*(?:-[ \t]*+){3,}")
_HIGHLIGHT = re.compile(r"(?<![\w*\\])(\*{1,3}+)(?=[^\s*])([^*\n]++)(?<=\S)\1(?![\w*])")
_TITLE = re.compile(r"<<([^<>\n]*)>>")
_FENCE = re.compile(r"```[A-Za-z]*\s*")


def number_bullet_lists(text: str, num_bullets: Any, relation: str = "exactly") -> str:
    """Markdown bullets: lines that start with *, -, + or • and a space, nested ones too.

    Divider lines (***, - - -) and what stands in fenced code are none.
    """
    lines = [line for line in _unfenced(text) if _BULLET.match(line) and not _RULE.fullmatch(line)]
    return compare(len(lines), num_bullets, relation, "bullets")


def constrained_response(text: str, options: Any = YES_NO_MAYBE) -> str:
    """Exactly one of the options stands in the text: whole words, caseless, a point at an option's end left out.

    Of options that contain each other the longest counts. A text that names several has chosen none.
    """
    wanted = {" ".join(spelled(option).rstrip(". ").split()): option for option in texts(options, "options")}
    longest = sorted(wanted, key=len, reverse=True)
    found = {" ".join(match.group().split()) for match in _any_of(longest).finditer(spelled(text))}
    if len(found) == 1:
        return ""
    named = ", ".join(wanted[one] for one in sorted(found))
    return f"names several options: {named}" if found else f"names none of the options: {', '.join(wanted.values())}"


def number_highlighted_sections(text: str, num_highlights: Any, relation: str = "at least") -> str:
    """Highlights on one line, *so*, **so** or ***so***, with a word inside; a bullet's star and 2*3*4 open none."""
    found = [inside for _, inside in _HIGHLIGHT.findall(text) if words(inside)]
    return compare(len(found), num_highlights, relation, "highlighted sections")


def multiple_sections(text: str, section_spliter: str, num_sections: Any, relation: str = "at least") -> str:
    """Sections that open with `section_spliter` (in this letter case) and a number, at the start of a line.

    Markdown before it (##, **) is left out, numbers are counted once, and a section without a word counts for none.
    """
    splitter = one_text(section_spliter, "section_spliter").strip()
    heading = re.compile(rf"^[ \t#*_>]*{re.escape(splitter)}[ \t]*(\d{{1,6}})(?!\w)", re.MULTILINE)
    heads = list(heading.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    full = {int(head.group(1)) for head, end in zip(heads, ends, strict=False) if words(text[head.end() : end])}
    return compare(len(full), num_sections, relation, f"sections marked {splitter!r}")


def json_format(text: str) -> str:
    """All of the text is one JSON object or array, with or without a ``` fence around it; NaN and Infinity are none."""
    try:
        value = json.loads(_without_fence(text.strip()), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        return f"no JSON: {str(error) or type(error).__name__}"
    return (
        "" if isinstance(value, dict | list) else f"JSON, but a bare {type(value).__name__}: expected object or array"
    )


def title(text: str) -> str:
    """There is a title in double angular brackets, <<so>>, on one line and with a word in it."""
    return "" if any(words(inside) for inside in _TITLE.findall(text)) else "no title in << >>"


def _any_of(options: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{phrase_pattern(option).pattern})" for option in options))


def _unfenced(text: str) -> list[str]:
    lines, inside = [], False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            lines.append(line)
    return lines


def _without_fence(text: str) -> str:
    opening = _FENCE.match(text)
    if opening is None or not text.endswith("```") or len(text) < opening.end() + 3:
        return text
    return text[opening.end() : -3]


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


KINDS: Mapping[str, Check] = {
    "detectable_format:number_bullet_lists": number_bullet_lists,
    "detectable_format:constrained_response": constrained_response,
    "detectable_format:number_highlighted_sections": number_highlighted_sections,
    "detectable_format:multiple_sections": multiple_sections,
    "detectable_format:json_format": json_format,
    "detectable_format:title": title,
}
