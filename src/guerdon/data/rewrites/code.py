"""Rewrites of Python code: fenced as such, or a text that is a Python program from end to end. Code is never run."""

from __future__ import annotations

import ast
import io
import random
import re
import textwrap
import tokenize
from collections.abc import Callable

from guerdon.data.rewrites.base import Change, Rewrite

LONGEST = 20_000
"""Characters of a piece that is looked at; longer ones are taken for no code."""

_FENCED = re.compile(r"(```(?:python|py)[ \t]*\n)(.*?)(\n?```)", re.DOTALL | re.IGNORECASE)
_GOOD = ("# Works as specified.", "# Checked: correct.", "# Efficient and clear.")
_BAD = ("# TODO: this is wrong.", "# Bug here, fix later.", "# Untested.")
_OTHER = "\n\ndef unused_helper(items):\n    return [item for item in items if item is not None]"
_STATEMENTS = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Assign,
    ast.AugAssign,
    ast.Return,
    ast.For,
    ast.While,
    ast.If,
    ast.Import,
    ast.ImportFrom,
    ast.Try,
    ast.With,
)
"""What a text has to hold to be code: single words and sums are Python, too."""


def on_code(change: Callable[[str, random.Random], str]) -> Change:
    """The change, made to each piece of Python in a text; a text without any stays as it is."""

    def changed(text: str, numbers: random.Random) -> str:
        if _FENCED.search(text):
            return _FENCED.sub(lambda m: m[1] + _kept(m[2], change, numbers) + m[3], text)
        return _kept(text, change, numbers)

    return changed


def _kept(code: str, change: Callable[[str, random.Random], str], numbers: random.Random) -> str:
    """Changed code; as it was where it is no Python, or where it would be none afterwards."""
    if not is_python(code):
        return code
    new = change(code, numbers)
    return new if is_python(new) else code


def is_python(text: str) -> bool:
    """Whether it can be parsed as Python, if need be as the inside of a block, and holds a statement."""
    return _tree(text) is not None


def _tree(text: str) -> ast.Module | None:
    if len(text) > LONGEST:
        return None
    try:
        tree = ast.parse(textwrap.dedent(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: nested too deeply
        return None
    return tree if any(isinstance(node, _STATEMENTS) for node in tree.body) else None


def minified(code: str, numbers: random.Random) -> str:
    """Without comments and blank lines, indented by single spaces. What it does is the same.

    The inside of a block stays one, indented by one space.
    """
    inner = textwrap.dedent(code)
    lines = inner.split("\n")
    comments, depths, inside = _layout(inner)
    kept = []
    for number, line in enumerate(lines, 1):
        if number in inside:  # the inside of a text over several lines
            kept.append(line)
            continue
        line = line[: comments[number]].rstrip() if number in comments else line
        if line.strip():
            kept.append(" " * depths.get(number, 0) + line.strip() if number in depths else line)
    new = textwrap.indent("\n".join(kept), _indent(code)[:1])
    return new if _same(inner, new) else code


def _same(code: str, new: str) -> bool:
    """Whether both are the same program, comments and layout aside."""
    trees = [_tree(code), _tree(new)]
    try:
        first, second = (None if tree is None else ast.dump(tree) for tree in trees)
    except RecursionError:
        return False
    return first is not None and first == second


def commented(comments: tuple[str, ...]) -> Callable[[str, random.Random], str]:
    """One of these comments before the first line of code and after it."""

    def change(code: str, numbers: random.Random) -> str:
        comment = _indent(code) + numbers.choice(comments)
        return f"{comment}\n{code.rstrip()}\n{comment}"

    return change


def extended(code: str, numbers: random.Random) -> str:
    """With a function after it that nothing calls."""
    return code.rstrip() + textwrap.indent(_OTHER, _indent(code))


def _indent(code: str) -> str:
    """What its first line that is not blank begins with: the inside of a block is indented."""
    first = next((line for line in code.split("\n") if line.strip()), "")
    return first[: len(first) - len(first.lstrip())]


def _layout(code: str) -> tuple[dict[int, int], dict[int, int], set[int]]:
    """(column of the comment of a line, depth of lines that begin a statement, lines that begin inside a text)."""
    comments: dict[int, int] = {}
    depths: dict[int, int] = {}
    inside: set[int] = set()
    depth, fresh = 0, True
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            comments[token.start[0]] = token.start[1]
        elif token.type in (tokenize.INDENT, tokenize.DEDENT):
            depth += 1 if token.type == tokenize.INDENT else -1
        elif token.type == tokenize.NEWLINE:
            fresh = True
        elif token.type not in (tokenize.NL, tokenize.ENDMARKER):
            if fresh:
                depths[token.start[0]] = depth
            fresh = False
            inside.update(range(token.start[0] + 1, token.end[0] + 1))
    return comments, depths, inside


CODE = (
    Rewrite("code_minified", "code", "meaning", on_code(minified)),
    Rewrite("code_good_comments", "code", "ranking", on_code(commented(_GOOD))),
    Rewrite("code_bad_comments", "code", "ranking", on_code(commented(_BAD))),
    Rewrite("code_other_appended", "code", "ranking", on_code(extended)),
)
