"""Which part of a reply is the program."""

from __future__ import annotations

import ast
import re
import textwrap

_FENCE = re.compile(r"^[ \t]*```[ \t]*([\w+#.-]*)[^\n`]*$", re.MULTILINE)
_PYTHON = ("python", "python3", "py", "py3")


def program_of(text: str) -> str | None:
    """The last fenced block marked as Python, else the last fenced block, else the whole text if it is a module.

    A last block that is never closed goes on to the end. A text is taken for a module when Python can parse it and it
    is more than names and constants ('yes' is no program). None when there is no program.
    """
    text = text.replace("\r\n", "\n")
    blocks = _blocks(text)
    for wanted in (_PYTHON, None):
        for language, code in reversed(blocks):
            if (wanted is None or language in wanted) and code.strip():
                return textwrap.dedent(code)
    return text if not blocks and _is_module(text) else None


def _blocks(text: str) -> list[tuple[str, str]]:
    """(language, code) of each fenced block. A fence that names a language always opens one."""
    blocks: list[tuple[str, str]] = []
    language, start = "", -1
    for fence in _FENCE.finditer(text):
        if start >= 0:
            blocks.append((language, text[start : fence.start()]))
        opens = start < 0 or bool(fence.group(1))
        language, start = (fence.group(1).lower(), fence.end() + 1) if opens else ("", -1)
    return [*blocks, (language, text[start:])] if start >= 0 else blocks


def _is_module(text: str) -> bool:
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(
        not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Name | ast.Constant | ast.UnaryOp | ast.Tuple))
        for line in body
    )
