"""The pages of the documentation as a sequence of fenced blocks, with the marks that stand before them.

A mark is an HTML comment on a line of its own, with nothing but other marks or comments between it and the block:

`<!-- fails -->`    every command of the block fails; lines of the next ```text block stand in what they say, in order
`<!-- slow -->`     needs a downloaded model or minutes: planned with --dry-run, and run in the slow tests
`<!-- network -->`  needs a network: its keys are checked, nothing is run
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*/*.md")]
)
MARKS = ("fails", "slow", "network")

_COMMENT = re.compile(r"<!-- (.*?) -->")
_FENCE = re.compile(r'```(?P<language>\w*)(?: title="(?P<title>[^"]+)")?')


@dataclass(frozen=True)
class Block:
    """One fenced block. line: where it starts in the page, from 1. title: the file that it shows, or ''."""

    page: str
    line: int
    language: str
    title: str
    text: str
    marks: frozenset[str]

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def lines(self) -> list[str]:
        """Its lines without blank ones and comments."""
        return [line for line in self.text.splitlines() if line.strip() and not line.startswith("#")]


def blocks(page: Path) -> list[Block]:
    """The blocks of a page. ValueError for a fence that is not closed or opens with words that no rule covers."""
    return list(_blocks(page.read_text(encoding="utf-8").splitlines(), page.relative_to(ROOT).as_posix()))


def _blocks(lines: list[str], page: str) -> Iterator[Block]:
    marks: set[str] = set()
    i = 0
    while i < len(lines):
        line = lines[i]
        if not line.startswith("```"):
            found = _COMMENT.fullmatch(line.strip())
            marks = marks | ({found[1]} & set(MARKS)) if found else marks if not line.strip() else set()
            i += 1
            continue
        opening = _FENCE.fullmatch(line)
        if opening is None or "```" not in lines[i + 1 :]:
            raise ValueError(f"{page}:{i + 1}: {line!r} is no fence that is understood, or it is never closed")
        end = lines.index("```", i + 1)
        text = "\n".join(lines[i + 1 : end]) + "\n"
        yield Block(page, i + 1, opening["language"], opening["title"] or "", text, frozenset(marks))
        marks = set()
        i = end + 1
